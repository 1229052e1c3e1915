// RUN: tierup-opt %s --tierup-fuse-groups=excluded=aten.sort --tierup-verify-specialized | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups=excluded=aten.sort --tierup-fuse-groups=excluded=aten.sort | FileCheck %s

!t = !torch.vtensor<[?,4],f32>

// Of the tensor the rest of the program asks for sizes only: the group gives the sizes.
// CHECK-LABEL: func.func @only_sizes
// CHECK: [[G:%.+]]:2 = "tierup.fusion_group"(%arg0) ({
// CHECK: [[Y:%.+]] = torch.aten.exp
// CHECK-DAG: [[N:%.+]] = torch.aten.size.int [[Y]]
// CHECK-DAG: [[M:%.+]] = torch.aten.numel [[Y]]
// CHECK: "tierup.yield"([[N]], [[M]]) : (!torch.int, !torch.int)
// CHECK: }) : (!torch.vtensor<[?,4],f32>) -> (!torch.int, !torch.int)
// CHECK: return {{.+}}, [[G]]#0, [[G]]#1
func.func @only_sizes(%x: !t) -> (!t, !torch.int, !torch.int) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !t
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.exp %0 : !t -> !t
  %n = torch.aten.size.int %1, %zero : !t, !torch.int -> !torch.int
  %2, %3 = torch.aten.sort %x, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[?,4],si64>
  %m = torch.aten.numel %1 : !t -> !torch.int
  return %2, %n, %m : !t, !torch.int, !torch.int
}

// The tensor is needed besides, or the size is of what comes in: tier 0 asks for it.
// CHECK-LABEL: func.func @tensor_too
// CHECK: [[G:%.+]] = "tierup.fusion_group"(%arg0)
// CHECK-NOT: torch.aten.size.int
// CHECK: "tierup.yield"({{%[0-9a-z]+}}) :
// CHECK-DAG: torch.aten.size.int [[G]]
// CHECK-DAG: torch.aten.size.int %arg0
// CHECK: return
func.func @tensor_too(%x: !t) -> (!t, !t, !torch.int, !torch.int) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !t
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.exp %0 : !t -> !t
  %n = torch.aten.size.int %1, %zero : !t, !torch.int -> !torch.int
  %m = torch.aten.size.int %x, %zero : !t, !torch.int -> !torch.int
  %2, %3 = torch.aten.sort %x, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[?,4],si64>
  return %1, %2, %n, %m : !t, !t, !torch.int, !torch.int
}

// There is a later group, which the size does not join: the tensor would have to be made for it.
// CHECK-LABEL: func.func @of_the_first_group
// CHECK: "tierup.fusion_group"(%arg0)
// CHECK: torch.aten.numel
// CHECK: }) : (!torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[?,4],f32>, !torch.int)
// CHECK: "tierup.fusion_group"
// CHECK-NOT: torch.aten.numel
// CHECK: return
func.func @of_the_first_group(%x: !t) -> (!t, !torch.int) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !t
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.exp %x : !t -> !t
  %2, %3 = torch.aten.sort %0, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[?,4],si64>
  %4 = torch.aten.relu %2 : !t -> !t
  %5 = torch.aten.neg %4 : !t -> !t
  %n = torch.aten.numel %1 : !t -> !torch.int
  return %5, %n : !t, !torch.int
}

// Before the size comes an op that may raise and that stays outside, behind the group: so does the size.
// CHECK-LABEL: func.func @behind_what_raises
// CHECK: [[G:%.+]]:2 = "tierup.fusion_group"(%arg0)
// CHECK-NOT: torch.aten.size.int
// CHECK: }) : (!torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>)
// CHECK: torch.aten.unbind.int [[G]]#0
// CHECK: torch.aten.size.int [[G]]#1
// CHECK: return
func.func @behind_what_raises(%x: !t) -> (!t, !torch.int) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !t
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = torch.aten.tanh %x : !t -> !t
  %1 = torch.aten.exp %0 : !t -> !t
  %rows = torch.aten.unbind.int %0, %zero : !t, !torch.int -> !torch.list<vtensor<[4],f32>>
  %n = torch.aten.size.int %1, %zero : !t, !torch.int -> !torch.int
  %2, %3 = torch.aten.sort %0, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[?,4],si64>
  return %2, %n : !t, !torch.int
}
