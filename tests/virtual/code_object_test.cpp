#include "virtual/code_object.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "bundle.h"
#include "support.h"

namespace instinct {
namespace {

class CodeObjectTest : public testing::TestWithParam<Target> {
 protected:
  std::vector<std::byte> file_ = read_kernels("loading", GetParam());
  std::shared_ptr<const CodeObject> object_ = CodeObject::load(file_);

  // A copy with one value replaced.
  template <class T>
  std::vector<std::byte> with(u64 offset, T value) const {
    std::vector<std::byte> copy = file_;
    std::memcpy(copy.data() + offset, &value, sizeof(T));
    return copy;
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, CodeObjectTest, testing::Values(Target::gfx942, Target::gfx950),
                         [](const auto& test) { return std::string(name_of(test.param)); });

Error::Kind kind_of_failure(std::span<const std::byte> file, std::optional<Target> wanted = {}) {
  try {
    CodeObject::load(file, wanted);
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    return error.kind();
  }
  ADD_FAILURE() << "loaded";
  return Error::Kind::launch_failure;
}

TEST_P(CodeObjectTest, knows_its_target_and_kernels) {
  EXPECT_EQ(object_->target(), GetParam());
  std::vector<std::string> names;
  for (const Kernel& kernel : object_->kernels()) names.push_back(kernel.name);
  EXPECT_EQ(names, (std::vector<std::string>{"arguments", "symbols", "shares", "sizes"}));
  EXPECT_EQ(object_->find_kernel("absent"), nullptr);
}

TEST_P(CodeObjectTest, describes_arguments) {
  const Kernel& kernel = *object_->find_kernel("arguments");
  const std::vector<std::pair<u32, u32>> expected = {{0, 8}, {8, 8}, {16, 1}, {24, 16}, {40, 2}};
  ASSERT_EQ(kernel.arguments.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(kernel.arguments[i].offset, expected[i].first);
    EXPECT_EQ(kernel.arguments[i].size, expected[i].second);
    EXPECT_EQ(kernel.arguments[i].kind,
              i < 2 ? KernelArgument::Kind::global_buffer : KernelArgument::Kind::by_value);
  }
  EXPECT_EQ(kernel.explicit_bytes(), 42u);
  EXPECT_EQ(kernel.max_threads, 64u);
  EXPECT_EQ(object_->find_kernel("sizes")->max_threads, 1024u);
}

TEST_P(CodeObjectTest, describes_hidden_arguments) {
  const Kernel& kernel = *object_->find_kernel("sizes");
  EXPECT_EQ(kernel.explicit_bytes(), 8u);
  EXPECT_GT(kernel.descriptor.kernarg_bytes, 8u);
  const KernelArgument& first = kernel.arguments.at(1);
  EXPECT_EQ(first.kind, KernelArgument::Kind::hidden_block_count_x);
  EXPECT_FALSE(first.is_explicit());
}

TEST_P(CodeObjectTest, reads_descriptors) {
  EXPECT_EQ(object_->find_kernel("shares")->descriptor.lds_bytes, 4000u);
  for (const Kernel& kernel : object_->kernels()) {
    EXPECT_TRUE(kernel.descriptor.kernarg_segment_ptr()) << kernel.name;
    EXPECT_TRUE(kernel.descriptor.workgroup_id_x()) << kernel.name;
    EXPECT_GE(kernel.descriptor.vgprs(), kernel.vgprs) << kernel.name;
    EXPECT_EQ(object_->function_at(kernel.entry), kernel.name);
    EXPECT_EQ(kernel.entry % 256, 0u);
  }
}

TEST_P(CodeObjectTest, places_variables) {
  const Symbol* table = object_->find_symbol("table");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->size, 16u);
  const int expected[4] = {3, 1, 4, 1};
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(table->address), expected, 16), 0);
  const Symbol* pointer = object_->find_symbol("pointer");
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(*reinterpret_cast<const u64*>(pointer->address), table->address + 8);
  const Symbol* zeroed = object_->find_symbol("zeroed");
  ASSERT_NE(zeroed, nullptr);
  const int* values = reinterpret_cast<const int*>(zeroed->address);
  EXPECT_EQ(std::accumulate(values, values + 100, 0), 0);
}

TEST_P(CodeObjectTest, finds_source_lines) {
  const auto line = object_->source_line(object_->find_kernel("arguments")->entry);
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->file.ends_with("tests/virtual/kernels/loading.hip")) << line->file;
  EXPECT_GE(line->line, 15u);
  EXPECT_LE(line->line, 20u);
  EXPECT_FALSE(object_->source_line(object_->segments()[0].address));
}

TEST_P(CodeObjectTest, has_a_place_for_each_object) {
  const auto other = CodeObject::load(file_);
  EXPECT_NE(other->find_kernel("sizes")->entry, object_->find_kernel("sizes")->entry);
}

TEST_P(CodeObjectTest, refuses_what_is_no_code_object) {
  EXPECT_EQ(kind_of_failure({}), Error::Kind::invalid_image);
  const char text[] = "#!/bin/sh\necho this is not machine code\n";
  EXPECT_EQ(kind_of_failure(std::as_bytes(std::span(text))), Error::Kind::invalid_image);
  EXPECT_EQ(kind_of_failure(with<u16>(18, 62)), Error::Kind::invalid_image);  // x86-64
  EXPECT_EQ(kind_of_failure(with<u8>(4, 1)), Error::Kind::invalid_image);     // ELF32
  EXPECT_EQ(kind_of_failure(with<u8>(8, 1)), Error::Kind::invalid_image);     // version 3
}

TEST_P(CodeObjectTest, refuses_other_targets) {
  const Target other = GetParam() == Target::gfx942 ? Target::gfx950 : Target::gfx942;
  EXPECT_EQ(kind_of_failure(file_, other), Error::Kind::wrong_target);
  EXPECT_EQ(kind_of_failure(with<u8>(48, 0x3f)), Error::Kind::wrong_target);  // gfx90a
  EXPECT_NO_THROW(CodeObject::load(file_, GetParam()));
}

TEST_P(CodeObjectTest, refuses_a_file_cut_short_anywhere) {
  for (std::size_t bytes = 0; bytes < file_.size(); bytes += bytes < 4096 ? 1 : 61) {
    EXPECT_EQ(kind_of_failure(std::span(file_).first(bytes)), Error::Kind::invalid_image) << bytes;
  }
}

TEST_P(CodeObjectTest, loads_other_versions) {
  for (const char* version : {"v4", "v6"}) {
    const auto object =
        CodeObject::load(read_kernels(std::string("loading.") + version, GetParam()));
    EXPECT_EQ(object->kernels().size(), 4u);
  }
}

TEST_P(CodeObjectTest, finds_its_part_of_a_bundle) {
  const auto both = bundle_of({Target::gfx942, Target::gfx950});
  EXPECT_EQ(CodeObject::load(both, GetParam())->target(), GetParam());
  const auto one = bundle_of({GetParam()});
  EXPECT_EQ(CodeObject::load(one)->target(), GetParam());
  const Target other = GetParam() == Target::gfx942 ? Target::gfx950 : Target::gfx942;
  EXPECT_EQ(kind_of_failure(one, other), Error::Kind::wrong_target);
  EXPECT_EQ(kind_of_failure(std::span(one).first(60)), Error::Kind::invalid_image);
  EXPECT_EQ(kind_of_failure(std::span(one).first(6000)), Error::Kind::invalid_image);
}

}  // namespace
}  // namespace instinct
