#include "kube/object_path.h"

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

TEST(ObjectPath, NamesTheObjectOfAPath) {
  struct Row {
    const char* target;
    const char* found;  // resource, name and path; empty: none
  };
  const Row rows[] = {
      {"/api/v1/namespaces/ns/pods/p", "pods p /api/v1/namespaces/ns/pods/p"},
      {"/api/v1/namespaces/ns/pods/p/status?x=/y", "pods p /api/v1/namespaces/ns/pods/p"},
      {"/api/v1/nodes/n%31", "nodes n1 /api/v1/nodes/n%31"},
      {"/api/v1/namespaces/ns", "namespaces ns /api/v1/namespaces/ns"},
      {"/apis/g.io/v1/things/t/status", "things t /apis/g.io/v1/things/t"},
      {"/apis/g.io/v1/namespaces/ns/things/t", "things t /apis/g.io/v1/namespaces/ns/things/t"},
      {"/api/v1/namespaces/ns/pods", ""},
      {"/api/v1/pods?limit=1", ""},
      {"/apis/g.io/v1/things", ""},
      {"/api/v1/nodes/", ""},
      {"/", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    const auto found = object_path(row.target);
    EXPECT_EQ(found ? found->resource + " " + found->name + " " + found->path : "", row.found)
        << row.target;
  }
}

}  // namespace
}  // namespace stowage::kube
