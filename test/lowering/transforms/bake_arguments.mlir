// RUN: tierup-opt %s --split-input-file --tierup-bake-arguments | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-bake-arguments --tierup-bake-arguments | FileCheck %s

// CHECK-LABEL: func.func @numbers
// CHECK-SAME: attributes {tierup.entry, tierup.stale_types}
// CHECK-DAG: %[[I:.*]] = torch.constant.int 3
// CHECK-DAG: %[[F:.*]] = torch.constant.float -0.000000e+00
// CHECK-DAG: %[[B:.*]] = torch.constant.bool true
// CHECK: return %[[I]], %[[F]], %[[B]], %arg3
func.func @numbers(%i: !torch.int {tierup.guard = {kind = "int", value = 3}}, %f: !torch.float {tierup.guard = {kind = "float", value = -0.0}},
                   %b: !torch.bool {tierup.guard = {kind = "bool", value = true}}, %n: !torch.int {tierup.guard = {kind = "int"}})
    -> (!torch.int, !torch.float, !torch.bool, !torch.int) attributes {tierup.entry} {
  return %i, %f, %b, %n : !torch.int, !torch.float, !torch.bool, !torch.int
}

// -----
// Nothing is promised: nothing is to be inferred again.
// CHECK-LABEL: func.func @free
// CHECK-SAME: attributes {tierup.entry} {
// CHECK-NEXT: return %arg0
func.func @free(%n: !torch.int {tierup.guard = {kind = "int"}}) -> !torch.int attributes {tierup.entry} {
  return %n : !torch.int
}
