#include "base/protobuf.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace tape {
namespace {

using namespace std::string_view_literals;

ProtobufReader read(std::string_view message) { return {message, "a file", "not a message"}; }

TEST(Protobuf, MatchesTheSpecificationsExamples) {
  // The examples of protobuf.dev/programming-guides/encoding.
  EXPECT_EQ(ProtobufWriter().number(1, 150).bytes, "\x08\x96\x01");
  EXPECT_EQ(ProtobufWriter().text(2, "testing").bytes, "\x12\x07testing");
  EXPECT_EQ(ProtobufWriter().message(3, ProtobufWriter().number(1, 150)).bytes, "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(ProtobufWriter().number(1, -2).bytes, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtobufWriter().real(1, 1).bytes, "\x0d\0\0\x80\x3f"sv);
  EXPECT_EQ(ProtobufWriter().begin_bytes(16, 300).bytes, "\x82\x01\xac\x02");
}

TEST(Protobuf, ReadsWhatItWrites) {
  const std::string message =
      ProtobufWriter().number(1, -2).text(20, "").real(3, -0.5F).number(4000, 0).text(5, "last").bytes;
  ProtobufReader fields = read(message);
  ProtobufField field = fields.next();
  EXPECT_TRUE(field.is_number(1));
  EXPECT_EQ(static_cast<int64_t>(field.number), -2);
  field = fields.next();
  EXPECT_TRUE(field.is_bytes(20));
  EXPECT_EQ(field.bytes, "");
  field = fields.next();
  EXPECT_TRUE(field.is_float(3));
  EXPECT_EQ(field.as_float(), -0.5F);
  EXPECT_TRUE(fields.next().is_number(4000));
  EXPECT_FALSE(fields.done());
  field = fields.next();
  EXPECT_EQ(field.bytes, "last");
  EXPECT_FALSE(field.is_bytes(4) || field.is_number(5) || field.is_float(5));
  EXPECT_TRUE(fields.done());
}

TEST(Protobuf, SkipsEightByteNumbers) {
  ProtobufReader fields = read("\x09\x01\x02\x03\x04\x05\x06\x07\x08\x08\x05");
  EXPECT_EQ(fields.next().bytes.size(), 8u);
  EXPECT_EQ(fields.next().number, 5u);
}

TEST(Protobuf, NamesTheByteAtWhichAMessageIsBroken) {
  EXPECT_TAPE_ERROR(read("\x12\x07test").next(), ErrorKind::format, "a file: needs 7 bytes, has 4 (byte 2)");
  EXPECT_TAPE_ERROR(read("\x0d\x01").next(), ErrorKind::format, "a file: needs 4 bytes, has 1 (byte 1)");
  EXPECT_TAPE_ERROR(read("\x08").next(), ErrorKind::format, "a file: needs 1 bytes, has 0 (byte 1)");
  EXPECT_TAPE_ERROR(read("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").next(), ErrorKind::format,
                    "a file: a varint does not end (byte 11)");
  EXPECT_TAPE_ERROR(read("\0"sv).next(), ErrorKind::format, "a file: not a message (byte 1)");
  EXPECT_TAPE_ERROR(read("\x0b").next(), ErrorKind::format, "a file: not a message (byte 1)");  // a deprecated group
}

}  // namespace
}  // namespace tape
