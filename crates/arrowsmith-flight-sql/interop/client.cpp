// SPDX-License-Identifier: Apache-2.0
// C++'s official client, of the libraries in the PyPI wheel: reads every endpoint of `trips`;
// prints rows, the sum of ids, null zones.

#include <arrow/api.h>
#include <arrow/flight/api.h>

#include <cstdint>
#include <iostream>

namespace flight = arrow::flight;

static arrow::Status run(const char* address) {
  ARROW_ASSIGN_OR_RAISE(auto location, flight::Location::Parse(address));
  ARROW_ASSIGN_OR_RAISE(auto client, flight::FlightClient::Connect(location));
  ARROW_ASSIGN_OR_RAISE(auto info, client->GetFlightInfo(flight::FlightDescriptor::Path({"trips"})));
  int64_t rows = 0, sum = 0, nulls = 0;
  for (const auto& endpoint : info->endpoints()) {
    ARROW_ASSIGN_OR_RAISE(auto reader, client->DoGet(endpoint.ticket));
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto chunk, reader->Next());
      if (!chunk.data) break;
      ARROW_RETURN_NOT_OK(chunk.data->ValidateFull());
      rows += chunk.data->num_rows();
      nulls += chunk.data->GetColumnByName("zone")->null_count();
      const auto& ids = static_cast<const arrow::Int64Array&>(*chunk.data->GetColumnByName("id"));
      for (int64_t row = 0; row < ids.length(); row++) sum += ids.Value(row);
    }
  }
  auto refused = client->DoGet(flight::Ticket{"../../etc/passwd"});
  if (refused.ok() && (*refused)->ToRecordBatches().ok()) {
    return arrow::Status::Invalid("a bad ticket was taken");
  }
  std::cout << rows << " " << sum << " " << nulls << std::endl;
  return arrow::Status::OK();
}

int main(int, char** arguments) {
  const auto status = run(arguments[1]);
  if (!status.ok()) std::cerr << status.ToString() << std::endl;
  return status.ok() ? 0 : 1;
}
