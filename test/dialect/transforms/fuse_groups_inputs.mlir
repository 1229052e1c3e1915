// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups=excluded=aten.sort --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-fuse-groups=excluded=aten.sort --tierup-fuse-groups=excluded=aten.sort 2> /dev/null | FileCheck %s

// What squeeze gives follows from a number that is 3 whichever arm is taken, which the group, given any number, would not know: it is
// undone. What it stood between is grouped then, the tanh and the product.
// CHECK-LABEL: func.func @number_from_outside
// CHECK: torch.aten.sin
// CHECK: [[S:%.+]], %{{.+}} = torch.aten.sort
// CHECK-NEXT: "tierup.fusion_group"(%arg1, [[S]])
// CHECK: torch.aten.tanh
// CHECK-NEXT: torch.aten.mul.Tensor
// CHECK: torch.prim.If
// CHECK-NOT: "tierup.fusion_group"
// CHECK: torch.aten.full {{.*}} -> !torch.vtensor<[3,4],f32>
// CHECK-NEXT: torch.aten.squeeze
// CHECK-NEXT: torch.aten.exp
// CHECK-NOT: "tierup.fusion_group"
// CHECK: return
func.func @number_from_outside(%y: !torch.vtensor<[3],f32>, %x: !torch.vtensor<[4],f32>, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %none = torch.constant.none
  %false = torch.constant.bool false
  %f1 = torch.constant.float 1.0
  %p = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %s:3 = torch.prim.If %c -> (!torch.int, !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32>) {
    %v, %i = torch.aten.sort %y, %zero, %false : !torch.vtensor<[3],f32>, !torch.int, !torch.bool -> !torch.vtensor<[3],f32>, !torch.vtensor<[3],si64>
    torch.prim.If.yield %three, %v, %p : !torch.int, !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %three, %y, %x : !torch.int, !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32>
  }
  %l = torch.prim.ListConstruct %s#0, %four : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-remark@below {{'tierup.fusion_group' op is not typed by its inputs alone, and is undone}}
  %0 = torch.aten.full %l, %f1, %none, %none, %none, %none : !torch.list<int>, !torch.float, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[3,4],f32>
  %1 = torch.aten.squeeze %0 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  %2 = torch.aten.exp %1 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  %b = torch.aten.sin %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %t, %j = torch.aten.sort %b, %zero, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
  %u = torch.aten.mul.Tensor %t, %p : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %4 = torch.tensor_static_info_cast %2 : !torch.vtensor<[3,4],f32> to !torch.vtensor
  %5 = torch.tensor_static_info_cast %u : !torch.vtensor<[4],f32> to !torch.vtensor
  %6 = torch.tensor_static_info_cast %s#2 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %4, %5, %6 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Sizes that are sums of symbols are symbols of their own in the group, with names that nothing in it has.
// CHECK-LABEL: func.func @names_of_sizes
// CHECK: "tierup.fusion_group"
// CHECK-NEXT: ^bb0([[A:%.+]]: !torch.vtensor<[?],f32>, [[B:%.+]]: !torch.vtensor<[?],f32>, [[C:%.+]]: !torch.vtensor<[?],f32>):
// CHECK-NEXT: [[U:%.+]] = torch.symbolic_int "g1"
// CHECK-NEXT: torch.bind_symbolic_shape [[A]], [[[U]]]
// CHECK-NEXT: [[V:%.+]] = torch.symbolic_int "g2"
// CHECK-NEXT: torch.bind_symbolic_shape [[B]], [[[V]]]
// CHECK-NEXT: [[W:%.+]] = torch.symbolic_int "g0"
// CHECK-NEXT: torch.bind_symbolic_shape [[C]], [[[W]]]
func.func @names_of_sizes(%x: !torch.vtensor<[?],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %s = torch.symbolic_int "g0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %l = torch.prim.ListConstruct %x, %x : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.list<vtensor>
  %c = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
  %v, %i = torch.aten.sort %c, %zero, %false : !torch.vtensor<[?],f32>, !torch.int, !torch.bool -> !torch.vtensor<[?],f32>, !torch.vtensor<[?],si64>
  %m = torch.prim.ListConstruct %v, %x : (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) -> !torch.list<vtensor>
  %d = torch.aten.cat %m, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?],f32>
  %w, %j = torch.aten.sort %d, %zero, %false : !torch.vtensor<[?],f32>, !torch.int, !torch.bool -> !torch.vtensor<[?],f32>, !torch.vtensor<[?],si64>
  %0 = torch.aten.tanh %w : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %1 = torch.aten.exp %v : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %2 = torch.aten.sin %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %5 = torch.tensor_static_info_cast %0 : !torch.vtensor<[?],f32> to !torch.vtensor
  %6 = torch.tensor_static_info_cast %1 : !torch.vtensor<[?],f32> to !torch.vtensor
  %7 = torch.tensor_static_info_cast %2 : !torch.vtensor<[?],f32> to !torch.vtensor
  return %5, %6, %7 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// What raises is said once: not again for another try, nor for who calls it.
// CHECK-LABEL: func.func @caller
// CHECK: torch.aten.select.int
// CHECK: call @raises
// CHECK-NOT: "tierup.fusion_group"
// CHECK: func.func private @raises
// CHECK-NOT: "tierup.fusion_group"
func.func @caller(%x: !torch.vtensor<[4],f32>, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %three = torch.constant.int 3
  %four = torch.constant.int 4
  %nine = torch.constant.int 9
  %none = torch.constant.none
  %false = torch.constant.bool false
  %f1 = torch.constant.float 1.0
  // expected-remark@below {{raises on such operands: select(): index 9 out of range}}
  %0 = torch.aten.select.int %x, %zero, %nine : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor
  %1 = torch.prim.If %c -> (!torch.int) {
    %v, %i = torch.aten.sort %x, %zero, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
    torch.prim.If.yield %three : !torch.int
  } else {
    torch.prim.If.yield %three : !torch.int
  }
  %l = torch.prim.ListConstruct %1, %four : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-remark@below {{is not typed by its inputs alone, and is undone}}
  %2 = torch.aten.full %l, %f1, %none, %none, %none, %none : !torch.list<int>, !torch.float, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[3,4],f32>
  %3 = torch.aten.squeeze %2 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  %4 = torch.aten.exp %3 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  %5 = func.call @raises(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor
  %6 = torch.tensor_static_info_cast %4 : !torch.vtensor<[3,4],f32> to !torch.vtensor
  return %5, %6 : !torch.vtensor, !torch.vtensor
}
func.func private @raises(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %nine = torch.constant.int 9
  // expected-remark@below {{raises on such operands: select(): index 9 out of range}}
  %0 = torch.aten.select.int %x, %zero, %nine : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----

// A tensor as an optional, which a list of indices holds, is the tensor in a group.
// CHECK-LABEL: func.func @list_of_optionals
// CHECK: [[S:%.+]], %{{.+}} = torch.aten.sort
// CHECK-NEXT: "tierup.fusion_group"([[S]], %arg1)
// CHECK-NEXT: ^bb0([[X:%.+]]: {{.*}}, [[I:%.+]]: {{.*}}):
// CHECK: [[L:%.+]] = torch.prim.ListConstruct [[I]] : (!torch.vtensor<[2],si64>) -> !torch.list<optional<vtensor>>
// CHECK: torch.aten.index.Tensor [[X]], [[L]]
// CHECK: torch.aten.exp
// CHECK: tierup.yield
func.func @list_of_optionals(%x: !torch.vtensor<[3],f32>, %i: !torch.vtensor<[2],si64>) -> !torch.vtensor<[2],f32> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %s, %p = torch.aten.sort %x, %zero, %false : !torch.vtensor<[3],f32>, !torch.int, !torch.bool -> !torch.vtensor<[3],f32>, !torch.vtensor<[3],si64>
  %o = torch.derefine %i : !torch.vtensor<[2],si64> to !torch.optional<vtensor>
  %l = torch.prim.ListConstruct %o : (!torch.optional<vtensor>) -> !torch.list<optional<vtensor>>
  %y = torch.aten.index.Tensor %s, %l : !torch.vtensor<[3],f32>, !torch.list<optional<vtensor>> -> !torch.vtensor<[2],f32>
  %e = torch.aten.exp %y : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %e : !torch.vtensor<[2],f32>
}

// An array that a branch may give is one memory, inside the group and outside: no copy of it is made.
// CHECK-LABEL: func.func @given_by_a_branch
// CHECK: "tierup.fusion_group"
// CHECK: [[C:%.+]] = torch.vtensor.literal
// CHECK: torch.prim.If.yield [[C]]
// CHECK: "tierup.yield"([[C]], %{{.+}})
// CHECK-NOT: torch.vtensor.literal
// CHECK: return
func.func @given_by_a_branch(%x: !torch.vtensor<[3],f32>, %c: !torch.bool) -> (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>) {
  %one = torch.vtensor.literal(dense<1.000000e+00> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  %0 = torch.aten.neg %x : !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  %1 = torch.prim.If %c -> (!torch.vtensor<[3],f32>) {
    %2 = torch.aten.mul.Tensor %0, %one : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
    torch.prim.If.yield %2 : !torch.vtensor<[3],f32>
  } else {
    torch.prim.If.yield %one : !torch.vtensor<[3],f32>
  }
  return %1, %one : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>
}
