// SPDX-License-Identifier: Apache-2.0
// Shared by every C++ program of `arrowsmith bench flight`: options, and the protocol with the
// command. A user would not write it, so it is not counted among the lines of code.
#pragma once

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/config.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

namespace harness {

struct Options {
  std::string data;
  bool memory = false;
  int64_t batch_rows = 65536;
  int32_t read_ahead = 1;
  std::string transport = "tcp";
};

inline Options parse(int argc, char** argv) {
  Options options;
  for (int at = 1; at + 1 < argc; at += 2) {
    std::string name = argv[at], value = argv[at + 1];
    if (name == "--data") options.data = value;
    if (name == "--mode") options.memory = value == "memory";
    if (name == "--batch-rows") options.batch_rows = std::stoll(value);
    if (name == "--read-ahead") options.read_ahead = std::stoi(value);
    if (name == "--transport") options.transport = value;
  }
  return options;
}

inline void ready(const std::string& uri) {
  std::cout << "{\"ready\":true,\"version\":\"arrow " << arrow::GetBuildInfo().version_string << "\",\"uri\":\"" << uri
            << "\"}" << std::endl;
}

// Returns when the command wants the program to end.
inline void wait_for_end() {
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}

inline arrow::Result<std::string> totals(const arrow::ChunkedArray& column) {
  namespace cp = arrow::compute;
  std::ostringstream text;
  text << "{\"n\":" << column.length() - column.null_count();
  auto sum = [](const arrow::Datum& values) -> arrow::Result<std::shared_ptr<arrow::Scalar>> {
    cp::ScalarAggregateOptions options(true, 0);
    ARROW_ASSIGN_OR_RAISE(auto result, cp::CallFunction("sum", {values}, &options));
    return result.scalar();
  };
  auto shared = std::make_shared<arrow::ChunkedArray>(column.chunks(), column.type());
  if (column.type()->id() == arrow::Type::STRING) {
    ARROW_ASSIGN_OR_RAISE(auto lengths, cp::CallFunction("binary_length", {arrow::Datum(shared)}));
    ARROW_ASSIGN_OR_RAISE(auto scalar, sum(lengths));
    text << ",\"bytes\":" << scalar->ToString() << "}";
  } else if (column.type()->id() == arrow::Type::DOUBLE) {
    ARROW_ASSIGN_OR_RAISE(auto scalar, sum(arrow::Datum(shared)));
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", static_cast<const arrow::DoubleScalar&>(*scalar).value);
    text << ",\"float\":" << number << "}";
  } else {
    ARROW_ASSIGN_OR_RAISE(auto integers, cp::Cast(arrow::Datum(shared), arrow::int64()));
    ARROW_ASSIGN_OR_RAISE(auto scalar, sum(integers));
    auto value = static_cast<uint64_t>(static_cast<const arrow::Int64Scalar&>(*scalar).value);
    text << ",\"sum\":\"" << value << "\"}";
  }
  return text.str();
}

inline arrow::Result<std::string> check(const arrow::Table& table) {
  std::ostringstream text;
  text << "{\"rows\":" << table.num_rows() << ",\"check\":{";
  for (int at = 0; at < table.num_columns(); ++at) {
    ARROW_ASSIGN_OR_RAISE(auto column, totals(*table.column(at)));
    text << (at ? "," : "") << '"' << table.field(at)->name() << "\":" << column;
  }
  text << "}}";
  return text.str();
}

using Get = std::function<arrow::Result<std::shared_ptr<arrow::Table>>(const std::string& uri)>;

// `get URI` fetches and keeps the table, `check` sums and frees it.
inline arrow::Status serve_commands(const Get& get) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ready("");
  auto fail = [](const arrow::Status& status) {
    std::string text;
    for (char c : status.ToString()) text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    std::cout << "{\"error\":\"" << text << "\"}" << std::endl;
  };
  std::shared_ptr<arrow::Table> table;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.rfind("get ", 0) == 0) {
      table.reset();
      auto start = std::chrono::steady_clock::now();
      auto got = get(line.substr(4));
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      if (!got.ok()) {
        fail(got.status());
        continue;
      }
      table = std::move(got).ValueUnsafe();
      std::cout << "{\"seconds\":" << seconds.count() << ",\"rows\":" << table->num_rows() << "}" << std::endl;
    } else if (table) {
      auto text = check(*table);
      table.reset();
      if (text.ok()) std::cout << *text << std::endl;
      else fail(text.status());
    }
  }
  return arrow::Status::OK();
}

inline int end(const arrow::Status& status) {
  if (!status.ok()) std::cerr << status.ToString() << std::endl;
  return status.ok() ? 0 : 1;
}

}  // namespace harness
