#include "client/pods_to_add.h"

#include <gtest/gtest.h>

namespace stowage::client {
namespace {

std::string added(const std::string& text) {
  const auto manifests = Manifests::parse(text, "f");
  if (!manifests) return manifests.error().message;
  PodsToAdd out;
  for (const auto& object : manifests->objects()) add_pods_of(object, out);
  std::string words;
  for (const auto& pod : out.pods) {
    words += pod.name + (pod.unread.empty() ? "" : " " + pod.unread) + ";";
  }
  for (const auto& kind : out.passed_over) words += " without " + kind;
  return words;
}

TEST(PodsToAddTest, NamesWhatTheManifestsAskFor) {
  struct Row {
    const char* name;
    const char* yaml;
    const char* pods;
  };
  const Row rows[] = {
      {"a pod gets the namespace default", "kind: Pod\nmetadata: {name: a}\n", "default/a;"},
      {"a pod keeps its namespace", "kind: Pod\nmetadata: {name: a, namespace: n}\n", "n/a;"},
      {"a generated name is made up", "kind: Pod\nmetadata: {generateName: a-}\n", "default/a-0;"},
      {"a deployment has one pod unless it says so",
       "kind: Deployment\nmetadata: {name: d}\nspec: {template: {}}\n", "default/d-0;"},
      {"replicas are counted",
       "kind: StatefulSet\nmetadata: {name: d}\nspec: {replicas: 2, template: {}}\n",
       "default/d-0;default/d-1;"},
      {"no replicas are no pods",
       "kind: ReplicaSet\nmetadata: {name: d}\nspec: {replicas: 0, template: {}}\n", ""},
      {"a job runs as many as it may at once",
       "kind: Job\nmetadata: {name: j}\nspec: {parallelism: 3, completions: 2, template: {}}\n",
       "default/j-0;default/j-1;"},
      {"kinds that ask for no pod are passed over once",
       "kind: Service\n---\nkind: Service\n---\nkind: DaemonSet\n",
       " without Service without DaemonSet"},
      {"too many replicas are one reason",
       "kind: Deployment\nmetadata: {name: d}\nspec: {replicas: 9999999, template: {}}\n",
       "default/d f: document 1, line 1 (Deployment): it asks for 9999999 pods; write 0 to "
       "100000;"},
      {"a template is needed", "kind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n",
       "default/d f: document 1, line 1 (Deployment): spec.template: missing;"},
      {"what can not be read is one pod with a reason",
       "kind: Pod\nmetadata: {name: a}\nspec: {containers: 3}\n",
       "default/a f: document 1, line 1 (Pod): spec.containers: expected an array;"},
      {"a pod needs a name", "kind: Pod\nspec: {}\n",
       "default/ f: document 1, line 1 (Pod): metadata.name: missing;"},
  };
  for (const Row& row : rows) EXPECT_EQ(added(row.yaml), row.pods) << row.name;
}

TEST(PodsToAddTest, UidsDependOnTheNameAlone) {
  EXPECT_EQ(made_uid("default/a"), made_uid("default/a"));
  EXPECT_NE(made_uid("default/a"), made_uid("default/b"));
  EXPECT_EQ(made_uid("default/a").size(), 36U);
}

}  // namespace
}  // namespace stowage::client
