// SPDX-License-Identifier: Apache-2.0
// The data of a server: a folder of Parquet files that is read for every query, as a dataset and in
// one thread, or Arrow files that are mapped once.
#pragma once

#include <arrow/api.h>
#include <arrow/dataset/api.h>
#include <arrow/filesystem/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

class Data {
 public:
  static arrow::Result<std::unique_ptr<Data>> Open(const std::string& folder, bool memory, int64_t batch_rows,
                                                   int32_t read_ahead) {
    auto data = std::make_unique<Data>();
    data->batch_rows_ = batch_rows;
    data->read_ahead_ = read_ahead;
    ARROW_RETURN_NOT_OK(memory ? data->Map(folder) : data->Discover(folder));
    return data;
  }

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Read() const {
    if (!dataset_) return arrow::RecordBatchReader::Make(batches_, schema_);
    ARROW_ASSIGN_OR_RAISE(auto builder, dataset_->NewScan());
    ARROW_RETURN_NOT_OK(builder->UseThreads(false));
    ARROW_RETURN_NOT_OK(builder->BatchSize(batch_rows_));
    ARROW_RETURN_NOT_OK(builder->BatchReadahead(read_ahead_));
    ARROW_RETURN_NOT_OK(builder->FragmentReadahead(read_ahead_));
    ARROW_ASSIGN_OR_RAISE(auto scanner, builder->Finish());
    return scanner->ToRecordBatchReader();
  }

 private:
  arrow::Status Discover(const std::string& folder) {
    auto filesystem = std::make_shared<arrow::fs::LocalFileSystem>();
    arrow::fs::FileSelector selector;
    selector.base_dir = folder;
    auto format = std::make_shared<arrow::dataset::ParquetFileFormat>();
    ARROW_ASSIGN_OR_RAISE(auto factory, arrow::dataset::FileSystemDatasetFactory::Make(filesystem, selector, format, {}));
    ARROW_ASSIGN_OR_RAISE(dataset_, factory->Finish());
    schema_ = dataset_->schema();
    return arrow::Status::OK();
  }

  arrow::Status Map(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ));
      ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file));
      schema_ = reader->schema();
      for (int at = 0; at < reader->num_record_batches(); ++at) {
        ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(at));
        batches_.push_back(std::move(batch));
      }
    }
    return schema_ ? arrow::Status::OK() : arrow::Status::Invalid("no files in ", folder);
  }

  int64_t batch_rows_ = 0;
  int32_t read_ahead_ = 0;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::dataset::Dataset> dataset_;
  arrow::RecordBatchVector batches_;
};
