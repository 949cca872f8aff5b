// SPDX-License-Identifier: Apache-2.0
#include "catalog.hpp"

double Bundle::total() const {
    double sum = price;
    for (const Product *part : parts) sum += part->total();
    for (const auto &[name, extra] : extras) sum += extra->total();
    return sum;
}

Catalog::Catalog() = default;
Catalog::~Catalog() = default;

double Catalog::total() const {
    double sum = 0;
    for (const auto &[name, product] : by_name) sum += product->total();
    return sum;
}
