// RUN: tierup-opt %s --split-input-file --tierup-insert-symbolic-checks --tierup-verify-guarded --tierup-verify-specialized --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-symbolic-checks --tierup-insert-symbolic-checks 2> /dev/null | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-symbolic-checks=contiguous --tierup-verify-guarded 2> /dev/null | FileCheck %s --check-prefix=CONT
// RUN: tierup-opt %s --split-input-file --tierup-insert-symbolic-checks --tierup-insert-checks --tierup-clear-specializations --tierup-verify-guarded 2> /dev/null | FileCheck %s --check-prefix=CLEAR

// Sizes that the product needs equal are one symbol, though others are equal too; a size of 1 stays.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: -> !torch.vtensor {
// CHECK: %[[OK:.*]] = "tierup.check_shapes"(%arg0, %arg1) {expected = [#tierup.profiled<f32[[[S:s[0-9]+]],1]>, #tierup.profiled<f32[[[S]],s2]>], layouts = ["strided", "strided"]}
// CHECK-NEXT: torch.prim.If %[[OK]] -> (!torch.vtensor) {
// CHECK-NEXT: %[[X:.*]] = torch.tensor_static_info_cast %arg0 : {{.*}} to !torch.vtensor<[?,1],f32>
// CHECK-NEXT: %[[Y:.*]] = torch.tensor_static_info_cast %arg1 : {{.*}} to !torch.vtensor<[?,?],f32>
// CHECK-NEXT: "tierup.fusion_group"(%[[X]], %[[Y]])
// CHECK: torch.aten.mul.Tensor {{.*}} -> !torch.vtensor<[?,?],f32>
// CHECK: } else {
// CHECK: "tierup.fallback"
// CHECK: torch.aten.mul.Tensor %{{.*}}, %{{.*}} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
// CONT-LABEL: func.func @broadcast
// CONT: layouts = ["contiguous", "contiguous"]
// CLEAR-LABEL: func.func @broadcast(%arg0: !torch.vtensor, %arg1: !torch.vtensor)
// CLEAR: torch.tensor_static_info_cast %arg0 : !torch.vtensor to !torch.vtensor<[?,1],f32>
func.func @broadcast(%x: !torch.vtensor<[4,1],f32>, %y: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %0 = "tierup.fusion_group"(%x, %y) ({
  ^bb0(%a: !torch.vtensor<[4,1],f32>, %b: !torch.vtensor<[4,4],f32>):
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[4,1],f32>, !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[4,4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4,1],f32>, !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----
// A number that the group needs stays a number; so does 0. Numbers are not checked. Symbols of several groups are not one.
// CHECK-LABEL: func.func @numbers_and_two_groups
// CHECK: "tierup.check_shapes"(%arg0, %arg1) {expected = [#tierup.profiled<f32[4,3]>, #tierup.profiled<f32[0,s{{[0-9]+}}]>]
// CHECK: "tierup.check_shapes"(%arg0) {expected = [#tierup.profiled<f32[s3,s4]>]
func.func @numbers_and_two_groups(%x: !torch.vtensor<[4,3],f32>, %e: !torch.vtensor<[0,5],f32>, %n: !torch.int) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[0,5],f32>, !torch.vtensor<[4,3],f32>) {
  %0:2 = "tierup.fusion_group"(%x, %e, %n) ({
  ^bb0(%a: !torch.vtensor<[4,3],f32>, %b: !torch.vtensor<[0,5],f32>, %m: !torch.int):
    %c3 = torch.constant.int 3
    %c4 = torch.constant.int 4
    %s = torch.prim.ListConstruct %c3, %c4 : (!torch.int, !torch.int) -> !torch.list<int>
    %4 = torch.vtensor.literal(dense<1.0> : tensor<4x3xf32>) : !torch.vtensor<[4,3],f32>
    %5 = torch.aten.mul.Tensor %a, %4 : !torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
    %1 = torch.aten.view %5, %s : !torch.vtensor<[4,3],f32>, !torch.list<int> -> !torch.vtensor<[3,4],f32>
    %2 = torch.aten.mul.Scalar %b, %m : !torch.vtensor<[0,5],f32>, !torch.int -> !torch.vtensor<[0,5],f32>
    "tierup.yield"(%1, %2) : (!torch.vtensor<[3,4],f32>, !torch.vtensor<[0,5],f32>) -> ()
  }, {}) : (!torch.vtensor<[4,3],f32>, !torch.vtensor<[0,5],f32>, !torch.int) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[0,5],f32>)
  %3 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[4,3],f32>):
    %1 = torch.aten.tanh %a : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[4,3],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[4,3],f32>) -> ()
  }, {}) : (!torch.vtensor<[4,3],f32>) -> !torch.vtensor<[4,3],f32>
  return %0#0, %0#1, %3 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[0,5],f32>, !torch.vtensor<[4,3],f32>
}

// -----
// The stride class is what a guard found.
// CHECK-LABEL: func.func @stride_classes
// CHECK: layouts = ["contiguous", "strided", "strided"]
// CONT-LABEL: func.func @stride_classes
// CONT: layouts = ["contiguous", "strided", "contiguous"]
func.func @stride_classes(%x: !torch.vtensor, %y: !torch.vtensor, %z: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
  %g = "tierup.guard"(%x) {expected = #tierup.profiled<f32[2,3] strides=[3,1]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %h = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3] strides=[1,2]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %0 = "tierup.fusion_group"(%g, %h, %z) ({
  ^bb0(%a: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[2,3],f32>, %c: !torch.vtensor<[2,3],f32>):
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
    %2 = torch.aten.mul.Tensor %1, %c : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[2,3],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
  %3 = torch.tensor_static_info_cast %0 : !torch.vtensor<[2,3],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
// Nothing to generalise: sizes 0 and 1, rank 0, numbers alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: tierup.check_shapes
// CHECK: return
func.func @nothing(%x: !torch.vtensor<[1,0],f32>, %y: !torch.vtensor<[],f32>) -> !torch.vtensor<[1,0],f32> {
  %0 = "tierup.fusion_group"(%x, %y) ({
  ^bb0(%a: !torch.vtensor<[1,0],f32>, %b: !torch.vtensor<[],f32>):
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[1,0],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[1,0],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[1,0],f32>) -> ()
  }, {}) : (!torch.vtensor<[1,0],f32>, !torch.vtensor<[],f32>) -> !torch.vtensor<[1,0],f32>
  return %0 : !torch.vtensor<[1,0],f32>
}

// -----
// What the group needs of the sizes no facts can say: it stays for the static check.
// CHECK-LABEL: func.func @cannot_be_said
// CHECK-NOT: tierup.check_shapes
// CHECK: "tierup.fusion_group"(%arg0, %arg1)
// CHECK: ^bb0(%{{.*}}: !torch.vtensor<[4],f32>, %{{.*}}: !torch.vtensor<[8],f32>):
// CHECK-NOT: "tierup.fusion_group"
// CHECK: return
func.func @cannot_be_said(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32> {
  // expected-remark@below {{keeps its sizes: it needs equal sizes that no check can ask for}}
  %0 = "tierup.fusion_group"(%x, %y) ({
  ^bb0(%a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[8],f32>):
    %zero = torch.constant.int 0
    %l = torch.prim.ListConstruct %a, %a : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.list<vtensor>
    %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[8],f32>
    %2 = torch.aten.mul.Tensor %1, %b : !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[8],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>, !torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32>
  return %0 : !torch.vtensor<[8],f32>
}

// -----
// Strides of sizes of 1 say nothing; those of other sizes do.
// CHECK-LABEL: func.func @strides_of_sizes_of_1
// CHECK: layouts = ["contiguous", "strided"]
func.func @strides_of_sizes_of_1(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  %g = "tierup.guard"(%x) {expected = #tierup.profiled<f32[1,3] strides=[7,1]>} : (!torch.vtensor) -> !torch.vtensor<[1,3],f32>
  %h = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3] strides=[7,1]>} : (!torch.vtensor) -> !torch.vtensor<[2,3],f32>
  %0 = "tierup.fusion_group"(%g, %h) ({
  ^bb0(%a: !torch.vtensor<[1,3],f32>, %b: !torch.vtensor<[2,3],f32>):
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[1,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[2,3],f32>) -> ()
  }, {}) : (!torch.vtensor<[1,3],f32>, !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
  %3 = torch.tensor_static_info_cast %0 : !torch.vtensor<[2,3],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}

// -----
// Names that guards have are not taken again: one symbol is one size in all facts of a function.
// CHECK-LABEL: func.func @symbols_of_guards
// CHECK: "tierup.check_shapes"(%{{.+}}) {expected = [#tierup.profiled<f32[s1,s2]>]
func.func @symbols_of_guards(%x: !torch.vtensor, %y: !torch.vtensor, %z: !torch.vtensor<[3,4],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %g = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0,3]>} : (!torch.vtensor) -> !torch.vtensor<[?,3],f32>
  %h = "tierup.guard"(%y) {expected = #tierup.profiled<f32[*]>} : (!torch.vtensor) -> !torch.vtensor<*,f32>
  %0 = "tierup.fusion_group"(%z) ({
  ^bb0(%a: !torch.vtensor<[3,4],f32>):
    %1 = torch.aten.tanh %a : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[3,4],f32>) -> ()
  }, {}) : (!torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32>
  %2 = torch.tensor_static_info_cast %0 : !torch.vtensor<[3,4],f32> to !torch.vtensor
  %3 = torch.tensor_static_info_cast %g : !torch.vtensor<[?,3],f32> to !torch.vtensor
  %4 = torch.tensor_static_info_cast %h : !torch.vtensor<*,f32> to !torch.vtensor
  return %2, %3, %4 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Arguments' sizes that the program needs equal are one symbol from then on.
// CHECK-LABEL: func.func @ties_of_arguments
// CHECK: %[[S:.+]] = torch.symbolic_int
// CHECK-NOT: torch.symbolic_int
// CHECK: torch.bind_symbolic_shape %arg0, [%[[S]]]
// CHECK: torch.bind_symbolic_shape %arg1, [%[[S]]]
func.func @ties_of_arguments(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %y, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %1 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %1 : !torch.vtensor<[?],f32>
}

// -----
// With other sizes the slice may be one row or several, so that nobody knows what squeeze gives.
// CHECK-LABEL: func.func @rank_of_these_sizes_only
// CHECK-NOT: tierup.check_shapes
// CHECK: return
func.func @rank_of_these_sizes_only(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8],f32> {
  // expected-remark@below {{keeps its sizes: others would not type all that is in it}}
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[4,8],f32>):
    %zero = torch.constant.int 0
    %one = torch.constant.int 1
    %three = torch.constant.int 3
    %none = torch.constant.none
    %1 = torch.aten.slice.Tensor %a, %zero, %three, %none, %one : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.vtensor<[1,8],f32>
    %2 = torch.aten.squeeze %1 : !torch.vtensor<[1,8],f32> -> !torch.vtensor<[8],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    "tierup.yield"(%3) : (!torch.vtensor<[8],f32>) -> ()
  }, {}) : (!torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8],f32>
  return %0 : !torch.vtensor<[8],f32>
}

// -----
// Of the outermost size the strides say nothing: it may be unknown.
// CHECK-LABEL: func.func @outermost_size_unknown
// CHECK: layouts = ["contiguous"]
func.func @outermost_size_unknown(%x: !torch.vtensor) -> !torch.vtensor {
  %g = "tierup.guard"(%x) {expected = #tierup.profiled<f32[?,3] strides=[3,1]>} : (!torch.vtensor) -> !torch.vtensor<[?,3],f32>
  %0 = "tierup.fusion_group"(%g) ({
  ^bb0(%a: !torch.vtensor<[?,3],f32>):
    %s = torch.symbolic_int "rows" {min_val = 2, max_val = 9223372036854775807} : !torch.int
    torch.bind_symbolic_shape %a, [%s], affine_map<()[s0] -> (s0, 3)> : !torch.vtensor<[?,3],f32>
    %1 = torch.aten.tanh %a : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[?,3],f32>
    "tierup.yield"(%1) : (!torch.vtensor<[?,3],f32>) -> ()
  }, {}) : (!torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32>
  %3 = torch.tensor_static_info_cast %0 : !torch.vtensor<[?,3],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}
