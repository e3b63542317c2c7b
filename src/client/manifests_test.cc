#include "client/manifests.h"

#include <gtest/gtest.h>

namespace stowage::client {
namespace {

std::string parsed(const std::string& text) {
  const auto manifests = Manifests::parse(text, "f");
  if (!manifests) return manifests.error().message;
  std::string out;
  for (const auto& object : manifests->objects()) {
    out += object.kind + "@" + std::to_string(object.document) + ":" + std::to_string(object.line) +
           "=" + std::string(object.json) + ";";
  }
  return out;
}

TEST(ManifestsTest, TakesFilesApart) {
  struct Row {
    const char* name;
    const char* text;
    const char* objects;
  };
  const Row rows[] = {
      {"a YAML object", "kind: Pod\na: 1\n", R"(Pod@1:1={"kind":"Pod","a":1};)"},
      {"YAML documents", "kind: A\n---\n---\nkind: B\n",
       R"(A@1:1={"kind":"A"};B@3:4={"kind":"B"};)"},
      {"a YAML list", "kind: List\nitems:\n- kind: A\n- kind: B\n",
       R"(A@1:3={"kind":"A"};B@1:4={"kind":"B"};)"},
      {"a typed list whose elements have no kind", "kind: PodList\nitems:\n- a: 1\n",
       R"(Pod@1:3={"a":1};)"},
      {"a JSON object", "\n{\"kind\": \"Pod\"}\n", R"(Pod@1:2={"kind": "Pod"};)"},
      {"a JSON list", "{\"items\":[\n{\"kind\":\"A\"},\n\n{\"kind\":\"B\"}],\"kind\":\"List\"}",
       R"(A@1:2={"kind":"A"};B@1:4={"kind":"B"};)"},
      {"JSON documents", "{\"kind\":\"A\"}\n{\"kind\":\"B\"}\n---\n{\"kind\":\"C\"}",
       R"(A@1:1={"kind":"A"};B@2:2={"kind":"B"};C@3:4={"kind":"C"};)"},
      {"brackets inside of JSON texts", R"({"kind":"A","a":"}\"{"})",
       R"(A@1:1={"kind":"A","a":"}\"{"};)"},
      {"YAML that begins like JSON", "{kind: A}\n", R"(A@1:1={"kind":"A"};)"},
      {"an empty list", "kind: List\nitems: []\n", ""},
      {"an empty file", "", ""},
      {"a kind that ends in List without being one", "kind: BlackList\n",
       R"(BlackList@1:1={"kind":"BlackList"};)"},
  };
  for (const Row& row : rows) EXPECT_EQ(parsed(row.text), row.objects) << row.name;
}

TEST(ManifestsTest, ErrorsNameTheFileTheDocumentAndTheLine) {
  EXPECT_EQ(parsed("kind: A\n---\na: 1\n"),
            "f: document 2, line 3: no kind; expected Kubernetes objects, e.g. the output of "
            "kubectl get -o yaml");
  EXPECT_EQ(parsed("{\"kind\":\"A\"}\n{\"kind\":"), "f: document 2, line 2: a bracket has no end");
  EXPECT_EQ(parsed("{\"kind\":\"A\"}\nB"), "f: document 2, line 2: expected the { of an object");
  EXPECT_EQ(parsed("{\"kind\":7}"), "f: document 1, line 1: kind: expected a string");
  EXPECT_EQ(parsed("kind: List\nitems:\n- 1\n"),
            "f: document 1, line 1: items[0]: expected an object");
  EXPECT_EQ(parsed("just words"), "f: document 1, line 1: expected an object");
}

TEST(ManifestsTest, AFileThatIsNotThereIsAnError) {
  const auto manifests = Manifests::load("/nonexistent/cluster.yaml");
  ASSERT_FALSE(manifests);
  EXPECT_EQ(manifests.error().message,
            "cannot open /nonexistent/cluster.yaml: No such file or directory");
  EXPECT_FALSE(Manifests::load("/"));
}

}  // namespace
}  // namespace stowage::client
