// RUN: tierup-opt %s --split-input-file --tierup-decide-results --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-decide-results --tierup-decide-results --verify-diagnostics | FileCheck %s

// A fresh array of known sizes is the caller's to allocate; an argument and a view of one need no data; new contents come last.
// CHECK-LABEL: func.func @kinds
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", sizes = ["s0", 4]},
// CHECK-SAME: {argument = 0 : i64, dtype = "f32", kind = "view", sizes = [4, "s0"], strides = [1, 4]},
// CHECK-SAME: {argument = 0 : i64, kind = "alias"}, {dtype = "int", kind = "scalar"}, {kind = "none"},
// CHECK-SAME: {argument = 0 : i64, dtype = "f32", in_place = true, kind = "argument", sizes = ["s0", 4]}]
// CHECK-SAME: tierup.ties = []
func.func @kinds(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}})
    -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[4,?],f32>, !torch.vtensor<[?,4],f32>, !torch.int, !torch.none, !torch.vtensor<[?,4],f32>)
    attributes {tierup.entry, tierup.result_aliases = ["fresh", "view:0", "argument:0", "fresh", "fresh"], tierup.writebacks = array<i64: 0>} {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %0 = torch.aten.neg %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.t %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[4,?],f32>
  %2 = torch.aten.size.int %x, %zero : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int
  %3 = torch.aten.exp %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %0, %1, %x, %2, %none, %3 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[4,?],f32>, !torch.vtensor<[?,4],f32>, !torch.int, !torch.none, !torch.vtensor<[?,4],f32>
}

// -----
// Two symbols that the program needs equal are compared by the kernel.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: tierup.ties = {{\[\[}}"s0", "s1"]]
func.func @tied(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}}, %y: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s1"]}})
    -> !torch.vtensor<[?],f32> attributes {tierup.entry, tierup.result_aliases = ["fresh"]} {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
// On the path on which a result is the argument itself tier 0 answers.
// CHECK-LABEL: func.func @perhaps
// CHECK-SAME: kind = "buffer"
// CHECK: torch.runtime.assert %arg1, "a result is an argument on this path"
func.func @perhaps(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %c: !torch.bool {tierup.guard = {kind = "bool"}})
    -> !torch.vtensor<[4],f32> attributes {tierup.entry, tierup.result_aliases = ["may_view:0"]} {
  %0 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
    %1 = torch.aten.neg %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @listed(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}) -> !torch.list<vtensor> attributes {tierup.entry, tierup.result_aliases = ["fresh"]} {
  // expected-error@below {{'torch.prim.ListConstruct' op a result of type !torch.list<vtensor> has no native form}}
  %0 = torch.prim.ListConstruct %x : (!torch.vtensor<[4],f32>) -> !torch.list<vtensor>
  return %0 : !torch.list<vtensor>
}

// -----
// What an int argument gives its size the caller allocates; how many elements it may be is among what the kernel checks first.
// CHECK-LABEL: func.func @of_an_int
// CHECK-SAME: tierup.results = [{dtype = "f32", kind = "buffer", sizes = ["s0"]}], tierup.ties = {{\[\[}}"max(1073741824, s0)", 1073741824]]
func.func @of_an_int(%n: !torch.int {tierup.guard = {kind = "int", value = "s0"}}) -> !torch.vtensor<[?],f32>
    attributes {tierup.entry, tierup.result_aliases = ["fresh"], tierup.limits = [["max(1073741824, s0)", 1073741824]]} {
  %none = torch.constant.none
  %l = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %l, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
