// SPDX-License-Identifier: Apache-2.0
// A Flight server in C++ over a folder of files: one flight, one endpoint.
#include <arrow/compute/initialize.h>
#include <arrow/flight/api.h>

#include <iostream>
#include <memory>
#include <string>

#include "data.hpp"
#include "harness.hpp"

namespace flight = arrow::flight;

class Server : public flight::FlightServerBase {
 public:
  explicit Server(std::unique_ptr<Data> data) : data_(std::move(data)) {}

  arrow::Status GetFlightInfo(const flight::ServerCallContext&, const flight::FlightDescriptor& descriptor,
                              std::unique_ptr<flight::FlightInfo>* info) override {
    flight::FlightEndpoint endpoint;
    endpoint.ticket.ticket = "taxi";
    ARROW_ASSIGN_OR_RAISE(auto made, flight::FlightInfo::Make(*data_->schema(), descriptor, {endpoint}, -1, -1));
    *info = std::make_unique<flight::FlightInfo>(std::move(made));
    return arrow::Status::OK();
  }

  arrow::Status DoGet(const flight::ServerCallContext&, const flight::Ticket&,
                      std::unique_ptr<flight::FlightDataStream>* stream) override {
    ARROW_ASSIGN_OR_RAISE(auto reader, data_->Read());
    *stream = std::make_unique<flight::RecordBatchStream>(std::move(reader));
    return arrow::Status::OK();
  }

 private:
  std::unique_ptr<Data> data_;
};

arrow::Status Run(const harness::Options& options) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(auto data, Data::Open(options.data, options.memory, options.batch_rows, options.read_ahead));
  ARROW_ASSIGN_OR_RAISE(auto location, flight::Location::ForGrpcTcp("127.0.0.1", 0));
  Server server(std::move(data));
  ARROW_RETURN_NOT_OK(server.Init(flight::FlightServerOptions(location)));
  harness::ready("grpc://127.0.0.1:" + std::to_string(server.port()));
  harness::wait_for_end();
  return server.Shutdown();
}

int main(int argc, char** argv) { return harness::end(Run(harness::parse(argc, argv))); }
