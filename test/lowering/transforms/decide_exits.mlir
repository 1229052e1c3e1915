// RUN: tierup-opt %s --split-input-file --tierup-decide-exits --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-decide-exits --tierup-decide-exits --verify-diagnostics | FileCheck %s

// The caller has its argument; what the kernel computed it hands over.
// CHECK-LABEL: func.func @live
// CHECK-SAME: tierup.exit_sites = [{index = 0 : i64, live = [{argument = 0 : i64, kind = "alias"}, {dtype = "f32", kind = "allocated", sizes = [0]}], location = "", op = ""}]
// CHECK-SAME: tierup.exits = array<i64: 5, 0>
// CHECK: %[[E:.*]] = torch.aten.exp
// CHECK: "tierup.exit"(%[[E]]) {index = 0 : i64}
func.func @live(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %c: !torch.bool {tierup.guard = {kind = "bool"}}) -> !torch.vtensor<[4],f32>
    attributes {tierup.entry, tierup.result_aliases = ["fresh"]} {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
    %2 = torch.aten.neg %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
  } else {
    "tierup.exit"(%x, %0) {index = 0 : i64} : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> ()
    %u = torch.prim.Uninitialized : !torch.vtensor<[4],f32>
    torch.prim.If.yield %u : !torch.vtensor<[4],f32>
  }
  return %1 : !torch.vtensor<[4],f32>
}

// -----
func.func @many() attributes {tierup.entry} {
  // expected-error@below {{'tierup.exit' op has no status: indices are below 65535}}
  "tierup.exit"() {index = 65535 : i64} : () -> ()
  return
}

// -----
// A guard said what a symbol is, and its type says the rest.
// CHECK-LABEL: func.func @guarded
// CHECK-NEXT: %[[C:.*]] = torch.tensor_static_info_cast %arg0 : !torch.vtensor<[?],f32> to !torch.vtensor<[4],f32>
// CHECK-NEXT: return %[[C]]
func.func @guarded(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
