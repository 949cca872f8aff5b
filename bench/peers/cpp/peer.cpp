// SPDX-License-Identifier: Apache-2.0
// The hand-written peer: a simdjson On-Demand loop for each schema of the benchmark.
//
// peer --shape NAME --input FILE --threads N. It reads the file, reports that it is ready, and for
// every line `run` on its standard input converts the text once and reports the time and the totals
// of the result. Of the ways to look up keys it uses the fastest one, found by trying all of them
// first.
#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "shapes.h"

namespace {

struct Part {
  size_t begin;
  size_t size;
};

// Parts of about equal size that end where a record ends.
std::vector<Part> split(const simdjson::padded_string& text, size_t parts) {
  std::vector<Part> result;
  size_t begin = 0;
  for (size_t i = 1; i <= parts && begin < text.size(); i++) {
    size_t end = i == parts ? text.size() : std::max(begin, text.size() / parts * i);
    while (end < text.size() && text.data()[end - 1] != '\n') end++;
    if (end > begin) result.push_back({begin, end - begin});
    begin = end;
  }
  return result;
}

size_t longest_line(const simdjson::padded_string& text) {
  size_t longest = 0, begin = 0;
  while (begin < text.size()) {
    const void* found = memchr(text.data() + begin, '\n', text.size() - begin);
    const size_t end = found ? static_cast<const char*>(found) - text.data() : text.size();
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

template <class Shape>
struct Worker {
  od::parser parser;
  std::unique_ptr<Shape> columns = std::make_unique<Shape>();
  uint64_t rows = 0;
  std::exception_ptr error;

  void convert(const char* text, size_t size, size_t batch_bytes, Order order) try {
    g_order = order;
    columns->clear();
    rows = 0;
#ifdef SIMDJSON_THREADS_ENABLED
    // Otherwise a thread of its own indexes structure ahead of this one: one thread means one.
    parser.threaded = false;
#endif
    od::document_stream documents;
    require(parser.iterate_many(text, size, batch_bytes).get(documents));
    for (auto document : documents) {
      columns->fill(parser, document.get_object().value());
      rows++;
    }
    if (documents.truncated_bytes() != 0) require(simdjson::INCOMPLETE_ARRAY_OR_OBJECT);
  } catch (...) {
    error = std::current_exception();
  }
};

template <class Shape>
class Peer {
 public:
  Peer(const std::string& path, size_t threads)
      : text_(simdjson::padded_string::load(path).value()),
        parts_(split(text_, threads)),
        batch_bytes_(std::max<size_t>(1000000, 2 * longest_line(text_))),
        workers_(parts_.size()) {
    double best = best_of_two(Order::kAny);
    for (const Order order : {Order::kHashed, Order::kKnown}) try {
      const double seconds = best_of_two(order);
      if (seconds < best) order_ = order;
      best = std::min(best, seconds);
    } catch (const simdjson::simdjson_error&) {
      // Some records lack a key: the known order cannot read them.
    }
  }

  double run() { return convert(order_); }

  const char* mode() const {
    if (order_ == Order::kHashed) return "hashed";
    return order_ == Order::kKnown ? "ordered" : "unordered";
  }

  uint64_t rows() const {
    uint64_t rows = 0;
    for (const auto& worker : workers_) rows += worker.rows;
    return rows;
  }

  Report report() {
    Report sum;
    for (auto& worker : workers_) {
      Report part;
      worker.columns->report("", part);
      if (sum.empty()) {
        sum = part;
        continue;
      }
      for (size_t i = 0; i < sum.size(); i++) {
        sum[i].count += part[i].count;
        sum[i].sum += part[i].sum;
        sum[i].real += part[i].real;
      }
    }
    return sum;
  }

 private:
  double best_of_two(Order order) { return std::min(convert(order), convert(order)); }

  double convert(Order order) {
    for (auto& worker : workers_) worker.error = nullptr;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (size_t i = 1; i < workers_.size(); i++) {
      threads.emplace_back([&, i] { part(i, order); });
    }
    if (!workers_.empty()) part(0, order);
    for (auto& thread : threads) thread.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (auto& worker : workers_) {
      if (worker.error) std::rethrow_exception(worker.error);
    }
    return seconds.count();
  }

  void part(size_t index, Order order) {
    const Part part = parts_[index];
    workers_[index].convert(text_.data() + part.begin, part.size, batch_bytes_, order);
  }

  simdjson::padded_string text_;
  std::vector<Part> parts_;
  size_t batch_bytes_;
  std::vector<Worker<Shape>> workers_;
  Order order_ = Order::kAny;
};

// The highest resident memory. Not from getrusage: that one remembers the process before exec.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return strtod(line.c_str() + 6, nullptr) * 1024 / 1e6;
  }
  return 0;
}

template <class Shape>
int serve(const std::string& path, size_t threads) {
  Peer<Shape> peer(path, threads);
  printf("{\"ready\":true,\"engine\":\"simdjson-ondemand\",\"version\":\"%s %s, %s keys\"}\n",
         SIMDJSON_VERSION, simdjson::builtin_implementation()->name().c_str(), peer.mode());
  fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line == "run";) {
    const double seconds = peer.run();
    printf("{\"seconds\":%.9f,\"rows\":%llu,\"check\":{", seconds,
           static_cast<unsigned long long>(peer.rows()));
    const char* comma = "";
    for (const Totals& column : peer.report()) {
      printf("%s\"%s\":{\"n\":%llu,", comma, column.path.c_str(),
             static_cast<unsigned long long>(column.count));
      comma = ",";
      const auto sum = static_cast<unsigned long long>(column.sum);
      if (column.kind == Totals::kSum) printf("\"sum\":\"%llu\"}", sum);
      if (column.kind == Totals::kBytes) printf("\"bytes\":%llu}", sum);
      if (column.kind == Totals::kFloat) printf("\"float\":%.17g}", column.real);
    }
    printf("},\"peak_rss_mb\":%.1f}\n", peak_rss_mb());
    fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string shape, input;
  size_t threads = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--shape") shape = argv[i + 1];
    if (option == "--input") input = argv[i + 1];
    if (option == "--threads") threads = std::max(1ul, strtoul(argv[i + 1], nullptr, 10));
  }
  if (shape == "battery") return serve<Battery>(input, threads);
  if (shape == "trip") return serve<Trip>(input, threads);
  if (shape == "trip-full") return serve<TripFull>(input, threads);
  if (shape == "logs") return serve<Logs>(input, threads);
  if (shape == "lineitem") return serve<Lineitem>(input, threads);
  if (shape == "taxi") return serve<Taxi>(input, threads);
  if (shape == "mixed-uniform") return serve<Mixed>(input, threads);
  if (shape == "mixed-keys-200") return serve<MixedKeys200>(input, threads);
  if (shape == "mixed-nested") return serve<MixedNested>(input, threads);
  if (shape == "twitter") return serve<Twitter>(input, threads);
  if (shape == "citm") return serve<Citm>(input, threads);
  if (shape == "canada") return serve<Canada>(input, threads);
  fprintf(stderr, "no loop was written for the shape \"%s\"\n", shape.c_str());
  return 2;
} catch (const std::exception& error) {
  fprintf(stderr, "%s\n", error.what());
  return 1;
}
