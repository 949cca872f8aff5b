// SPDX-License-Identifier: Apache-2.0
// Arrow-layout columns that a simdjson On-Demand loop fills: the building blocks of this peer.
//
// A schema is a type (`Struct<Field<"voltage", List<UInt>>>`), so the compiler sees one schema and
// emits the equivalent of hand-written code: no virtual call, no look-up by type. Buffers are
// reserved once, stay warm and are reused by every run, which favours this peer: it never waits for
// a fresh page. It is part of the benchmarks, not of the product.
#pragma once
#include <sys/mman.h>

#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "simdjson.h"

namespace od = simdjson::ondemand;

// Every thread has its own columns; address space is plentiful, memory is used when written.
inline constexpr size_t kReserveBytes = size_t{8} << 30;

inline void require(simdjson::error_code error) {
  if (error) throw simdjson::simdjson_error(error);
}

template <class T>
class Buffer {
 public:
  Buffer() {
    void* memory = mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no address space for a column");
    madvise(memory, kReserveBytes, MADV_HUGEPAGE);
    data_ = static_cast<T*>(memory);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { munmap(data_, kReserveBytes); }

  void push(T value) { data_[size_++] = value; }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  T* data() { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_;
  size_t size_ = 0;
};

class Bits {
 public:
  void push(bool value) {
    uint8_t* byte = bytes_.data() + (size_ >> 3);
    const unsigned bit = size_ & 7;
    *byte = static_cast<uint8_t>((bit == 0 ? 0 : *byte) | (unsigned{value} << bit));
    size_++;
  }
  void clear() { size_ = 0; }
  uint64_t ones() {
    uint64_t count = 0;
    for (size_t i = 0; i < size_; i++) count += bytes_.data()[i >> 3] >> (i & 7) & 1;
    return count;
  }

 private:
  Buffer<uint8_t> bytes_;
  size_t size_ = 0;
};

// The totals that all engines report of a column, for comparison.
struct Totals {
  enum Kind { kSum, kFloat, kBytes };
  std::string path;
  Kind kind;
  uint64_t count;
  uint64_t sum;
  double real;
};
using Report = std::vector<Totals>;

// Each column has: read (a value), null (a place holder), clear, report.

template <class T>
class Number {
 public:
  void read(od::parser&, od::value value) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      values_.push(value.get_uint64().value());
    } else if constexpr (std::is_same_v<T, int64_t>) {
      values_.push(value.get_int64().value());
    } else if constexpr (std::is_same_v<T, int32_t>) {
      const int64_t wide = value.get_int64().value();
      if (wide != static_cast<int32_t>(wide)) require(simdjson::NUMBER_OUT_OF_RANGE);
      values_.push(static_cast<int32_t>(wide));
    } else {
      values_.push(value.get_double().value());
    }
  }
  void null() {
    values_.push(T{});
    nulls_++;
  }
  void clear() {
    values_.clear();
    nulls_ = 0;
  }
  void report(const std::string& path, Report& out) const {
    Totals totals{path, Totals::kSum, values_.size() - nulls_, 0, 0};
    if constexpr (std::is_same_v<T, double>) {
      totals.kind = Totals::kFloat;
      for (T value : values_) totals.real += value;
    } else {
      for (T value : values_) totals.sum += static_cast<uint64_t>(value);
    }
    out.push_back(totals);
  }

 private:
  Buffer<T> values_;
  size_t nulls_ = 0;
};
using UInt = Number<uint64_t>;
using Int = Number<int64_t>;
using Int32 = Number<int32_t>;
using Float = Number<double>;

class Bool {
 public:
  void read(od::parser&, od::value value) {
    values_.push(value.get_bool().value());
    count_++;
  }
  void null() { values_.push(false); }
  void clear() {
    values_.clear();
    count_ = 0;
  }
  void report(const std::string& path, Report& out) {
    out.push_back({path, Totals::kSum, count_, values_.ones(), 0});
  }

 private:
  Bits values_;
  size_t count_ = 0;
};

// Strings are unescaped straight into the column: no copy through the parser's own buffer.
class Str {
 public:
  Str() { clear(); }
  void read(od::parser& parser, od::value value) {
    od::raw_json_string raw;
    require(value.get_raw_json_string().get(raw));
    require(parser.unescape(raw, end_).error());
    offsets_.push(static_cast<int32_t>(end_ - bytes_.data()));
  }
  void null() {
    offsets_.push(static_cast<int32_t>(end_ - bytes_.data()));
    nulls_++;
  }
  void clear() {
    offsets_.clear();
    offsets_.push(0);
    end_ = bytes_.data();
    nulls_ = 0;
  }
  void report(const std::string& path, Report& out) {
    const auto bytes = static_cast<uint64_t>(end_ - bytes_.data());
    out.push_back({path, Totals::kBytes, offsets_.size() - 1 - nulls_, bytes, 0});
  }

 private:
  Buffer<int32_t> offsets_;
  Buffer<uint8_t> bytes_;
  uint8_t* end_ = nullptr;
  size_t nulls_ = 0;
};

// The digits [from, from + count) of a text; -1 if one is not a digit.
inline int64_t digits(std::string_view text, size_t from, size_t count) {
  int64_t value = 0;
  for (size_t i = from; i < from + count; i++) {
    const unsigned digit = static_cast<uint8_t>(text[i]) - '0';
    if (digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

// Days since 1970-01-01 of YYYY-MM-DD, in the Gregorian calendar; years begin in March, so that the
// leap day is the last.
inline int64_t days(std::string_view text) {
  static constexpr uint8_t kMonthDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int64_t year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (year < 0 || month < 1 || month > 12 || text[4] != '-' || text[7] != '-' || day < 1 ||
      day > kMonthDays[month - 1] + (leap && month == 2)) {
    require(simdjson::INCORRECT_TYPE);
  }
  const int64_t y = month <= 2 ? year - 1 : year, shifted = (month + 9) % 12;
  const int64_t day_of_year = (153 * shifted + 2) / 5 + day - 1;
  const int64_t before = y * 365 + y / 4 - y / 100 + y / 400;
  return before + day_of_year - 719468;
}

class Date {
 public:
  void read(od::parser&, od::value value) {
    const std::string_view text = value.get_string().value();
    if (text.size() != 10) require(simdjson::INCORRECT_TYPE);
    days_.push(static_cast<int32_t>(days(text)));
  }
  void null() {
    days_.push(0);
    nulls_++;
  }
  void clear() {
    days_.clear();
    nulls_ = 0;
  }
  void report(const std::string& path, Report& out) const {
    Totals totals{path, Totals::kSum, days_.size() - nulls_, 0, 0};
    for (int32_t day : days_) totals.sum += static_cast<uint64_t>(int64_t{day});
    out.push_back(totals);
  }

 private:
  Buffer<int32_t> days_;
  size_t nulls_ = 0;
};

// Microseconds since 1970 of YYYY-MM-DDThh:mm:ss[.ffffff][Z].
class Timestamp {
 public:
  void read(od::parser&, od::value value) {
    const std::string_view text = value.get_string().value();
    if (text.size() < 19 || (text[10] != 'T' && text[10] != ' ')) require(simdjson::INCORRECT_TYPE);
    const int64_t hour = digits(text, 11, 2), minute = digits(text, 14, 2);
    const int64_t second = digits(text, 17, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
        text[13] != ':' || text[16] != ':') {
      require(simdjson::INCORRECT_TYPE);
    }
    int64_t micros = ((days(text) * 24 + hour) * 60 + minute) * 60 + second;
    size_t at = 19;
    int64_t fraction = 0;
    if (at < text.size() && text[at] == '.') {
      const size_t count = text.size() - at - 1 - (text.back() == 'Z');
      fraction = count > 6 ? -1 : digits(text, at + 1, count);
      if (fraction < 0) require(simdjson::INCORRECT_TYPE);
      for (size_t i = count; i < 6; i++) fraction *= 10;
      at += 1 + count;
    }
    if (at != text.size() && !(at + 1 == text.size() && text[at] == 'Z')) {
      require(simdjson::INCORRECT_TYPE);
    }
    micros_.push(micros * 1000000 + fraction);
  }
  void null() {
    micros_.push(0);
    nulls_++;
  }
  void clear() {
    micros_.clear();
    nulls_ = 0;
  }
  void report(const std::string& path, Report& out) const {
    Totals totals{path, Totals::kSum, micros_.size() - nulls_, 0, 0};
    for (int64_t micros : micros_) totals.sum += static_cast<uint64_t>(micros);
    out.push_back(totals);
  }

 private:
  Buffer<int64_t> micros_;
  size_t nulls_ = 0;
};

// A column whose values may be null or missing.
template <class Column>
class Opt {
 public:
  static constexpr bool kOptional = true;
  template <class... Mode>
  void read(od::parser& parser, od::value value, Mode... mode) {
    if (value.is_null().value()) {
      null();
    } else {
      valid_.push(true);
      column_.read(parser, value, mode...);
    }
  }
  void null() {
    valid_.push(false);
    column_.null();
  }
  void clear() {
    valid_.clear();
    column_.clear();
  }
  void report(const std::string& path, Report& out) { column_.report(path, out); }

 private:
  Bits valid_;
  Column column_;
};

template <class Column>
class List {
 public:
  List() { clear(); }
  void read(od::parser& parser, od::value value) {
    for (auto item : value.get_array().value()) {
      column_.read(parser, item.value());
      items_++;
    }
    offsets_.push(items_);
  }
  void null() { offsets_.push(items_); }
  void clear() {
    offsets_.clear();
    offsets_.push(0);
    items_ = 0;
    column_.clear();
  }
  void report(const std::string& path, Report& out) { column_.report(path + "[]", out); }

 private:
  Buffer<int32_t> offsets_;
  Column column_;
  int32_t items_ = 0;
};

template <class Column, unsigned kItems>
class FixedList {
 public:
  void read(od::parser& parser, od::value value) {
    unsigned items = 0;
    for (auto item : value.get_array().value()) {
      column_.read(parser, item.value());
      items++;
    }
    if (items != kItems) require(simdjson::INDEX_OUT_OF_BOUNDS);
  }
  void null() {
    for (unsigned i = 0; i < kItems; i++) column_.null();
  }
  void clear() { column_.clear(); }
  void report(const std::string& path, Report& out) { column_.report(path + "[]", out); }

 private:
  Column column_;
};

template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) {
    for (size_t i = 0; i < N; i++) text[i] = from[i];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
  // The name with its closing quote, as in the text.
  constexpr std::array<char, N> quoted() const {
    std::array<char, N> result{};
    for (size_t i = 0; i + 1 < N; i++) result[i] = text[i];
    result[N - 1] = '"';
    return result;
  }
};

template <Name kName, class Column>
struct Field {
  static constexpr std::string_view name() { return kName.view(); }
  // One comparison of a known length: the text is padded, so that it may be read past its end.
  static bool is(const char* key) {
    static constexpr auto kQuoted = kName.quoted();
    return memcmp(key, kQuoted.data(), kQuoted.size()) == 0;
  }
  Column column;
};

template <class Column>
concept Optional = Column::kOptional;

// How the keys of an object are looked up.
enum class Order {
  // Look up each field of the schema in turn. A missing field would consume the rest of the object,
  // so it is an error; for data whose keys are all present, in one order.
  kKnown,
  // Iterate over the keys present, expecting the order of the schema, but not relying on it.
  kAny,
  // Iterate over the keys present, each looked up in a hash table: for keys in no order.
  kHashed,
};
inline thread_local Order g_order = Order::kAny;

// A hash table of keys: the index of each, or the number of keys for others.
template <size_t kKeys>
class KeyTable {
 public:
  explicit KeyTable(std::array<std::string_view, kKeys> keys) : keys_(keys) {
    places_.fill(kKeys);
    for (size_t i = 0; i < kKeys; i++) {
      size_t at = hash(keys[i]);
      while (places_[at] != kKeys) at = (at + 1) % places_.size();
      places_[at] = static_cast<uint32_t>(i);
    }
  }
  size_t find(std::string_view key) const {
    for (size_t at = hash(key);; at = (at + 1) % places_.size()) {
      const size_t place = places_[at];
      if (place == kKeys || keys_[place] == key) return place;
    }
  }

 private:
  static constexpr unsigned kBits = std::bit_width(8 * kKeys);
  // Of the first and the last eight bytes, and the length.
  static size_t hash(std::string_view key) {
    uint64_t first = 0, last = 0;
    memcpy(&first, key.data(), std::min<size_t>(key.size(), 8));
    if (key.size() > 8) memcpy(&last, key.data() + key.size() - 8, 8);
    const uint64_t mixed = (first ^ (last * 0xC2B2AE3D27D4EB4Full)) + key.size();
    return (mixed * 0x9E3779B97F4A7C15ull) >> (64 - kBits);
  }
  std::array<std::string_view, kKeys> keys_;
  std::array<uint32_t, size_t{1} << kBits> places_;
};

template <class... Fields>
class Struct {
  static constexpr size_t kFields = sizeof...(Fields);
  using Seen = std::bitset<kFields>;

 public:
  void read(od::parser& parser, od::value value) { fill(parser, value.get_object().value()); }
  void fill(od::parser& parser, od::object object) {
    if (g_order == Order::kKnown) {
      in_known_order(parser, object, kIndices);
    } else if (g_order == Order::kHashed) {
      by_hash(parser, object, kIndices);
    } else {
      in_any_order(parser, object, kIndices);
    }
  }
  void null() {
    std::apply([](auto&... field) { (field.column.null(), ...); }, fields_);
  }
  void clear() {
    std::apply([](auto&... field) { (field.column.clear(), ...); }, fields_);
  }
  void report(const std::string& path, Report& out) {
    const std::string prefix = path.empty() ? "" : path + ".";
    std::apply(
        [&](auto&... field) {
          (field.column.report(prefix + std::string(field.name()), out), ...);
        },
        fields_);
  }

 private:
  static constexpr auto kIndices = std::index_sequence_for<Fields...>{};

  template <size_t... I>
  void in_known_order(od::parser& parser, od::object& object, std::index_sequence<I...>) {
    (std::get<I>(fields_).column.read(
         parser, object.find_field(std::get<I>(fields_).name()).value()),
     ...);
  }

  template <size_t... I>
  void by_hash(od::parser& parser, od::object& object, std::index_sequence<I...>) {
    static const KeyTable<kFields> table({Fields::name()...});
    static constexpr std::array<void (*)(Struct&, od::parser&, od::field&, Seen&), kFields> kTake = {
        [](Struct& self, od::parser& parser, od::field& field, Seen& seen) {
          self.template take<I>(parser, field, seen);
        }...};
    Seen seen;
    for (auto each : object) {
      od::field field;
      require(std::move(each).get(field));
      const size_t place = table.find(field.escaped_key());
      if (place < kFields) kTake[place](*this, parser, field, seen);
    }
    if (!seen.all()) ((seen[I] ? void() : missing(std::get<I>(fields_).column)), ...);
  }

  template <size_t... I>
  void in_any_order(od::parser& parser, od::object& object, std::index_sequence<I...>) {
    Seen seen;
    auto at = object.begin().value();
    const auto end = object.end().value();
    od::field field;
    const char* key = nullptr;
    const auto load = [&]() __attribute__((always_inline)) {
      if (!(at != end)) return false;
      require((*at).get(field));
      key = field.key().raw();
      return true;
    };
    bool more = load();
    while (more) {
      const Seen before = seen;
      // The expected order: one comparison per key, then directly on to the next field.
      ((more && std::get<I>(fields_).is(key)
            ? (take<I>(parser, field, seen), ++at, more = load(), void())
            : void()),
       ...);
      // No field has this key, or all later candidates came before: a key to skip.
      if (more && seen == before) {
        ++at;
        more = load();
      }
    }
    if (!seen.all()) ((seen[I] ? void() : missing(std::get<I>(fields_).column)), ...);
  }

  template <size_t I>
  void take(od::parser& parser, od::field& field, Seen& seen) {
    if (seen[I]) require(simdjson::INCORRECT_TYPE);
    seen.set(I);
    std::get<I>(fields_).column.read(parser, field.value());
  }

  template <class Column>
  static void missing(Column& column) {
    if constexpr (Optional<Column>) {
      column.null();
    } else {
      require(simdjson::NO_SUCH_FIELD);
    }
  }

  std::tuple<Fields...> fields_;
};
