// SPDX-License-Identifier: Apache-2.0
// The functions of expression.hpp. Compiled with -g, its object file is what the layout is read
// from.
#include "expression.hpp"

int Literal::evaluate() const { return m_value; }

int Operation::evaluate() const {
    // A message can hold a tree without one side, and any numbers: overflow wraps, an undefined
    // quotient is 0.
    const int a = left() ? left()->evaluate() : 0;
    const int b = right() ? right()->evaluate() : 0;
    const unsigned x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    switch (m_eType) {
    case eAddition: return static_cast<int>(x + y);
    case eSubtraction: return static_cast<int>(x - y);
    case eMultiplication: return static_cast<int>(x * y);
    case eDivision: return b == 0 ? 0 : b == -1 ? static_cast<int>(0 - x) : a / b;
    }
    return 0;
}
