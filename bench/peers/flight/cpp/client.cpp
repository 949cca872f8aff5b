// SPDX-License-Identifier: Apache-2.0
// A Flight client in C++: lists the flights, reads every endpoint in turn, and keeps the result as
// a table.
#include <arrow/flight/api.h>
#include <arrow/table.h>

#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"

namespace flight = arrow::flight;

arrow::Result<std::shared_ptr<arrow::Table>> Get(const std::string& uri) {
  ARROW_ASSIGN_OR_RAISE(auto location, flight::Location::Parse(uri));
  ARROW_ASSIGN_OR_RAISE(auto client, flight::FlightClient::Connect(location));
  ARROW_ASSIGN_OR_RAISE(auto info, client->GetFlightInfo(flight::FlightDescriptor::Path({"taxi"})));
  std::vector<std::shared_ptr<arrow::Table>> tables;
  for (const auto& endpoint : info->endpoints()) {
    ARROW_ASSIGN_OR_RAISE(auto reader, client->DoGet(endpoint.ticket));
    ARROW_ASSIGN_OR_RAISE(auto table, reader->ToTable());
    tables.push_back(std::move(table));
  }
  ARROW_RETURN_NOT_OK(client->Close());
  return arrow::ConcatenateTables(tables);
}

int main() { return harness::end(harness::serve_commands(Get)); }
