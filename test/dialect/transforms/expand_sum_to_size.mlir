// RUN: tierup-opt %s --tierup-expand-sum-to-size | FileCheck %s
// RUN: tierup-opt %s --tierup-expand-sum-to-size --tierup-expand-sum-to-size | FileCheck %s

!x = !torch.vtensor<[2,3,4],f32>

// CHECK-LABEL: func.func @summed
// CHECK: %[[SIZE:.*]] = torch.prim.ListConstruct %int3, %int1
// CHECK: %[[DIMS:.*]] = torch.prim.ListConstruct %int0{{.*}}, %int2
// CHECK: %[[S:.*]] = torch.aten.sum.dim_IntList %arg0, %[[DIMS]], %true, %none : {{.*}} -> !torch.vtensor<[1,3,1],f32>
// CHECK: %[[V:.*]] = torch.aten.view %[[S]], %[[SIZE]] : {{.*}} -> !torch.vtensor<[3,1],f32>
// CHECK: return %[[V]]
func.func @summed(%x: !x) -> !torch.vtensor<[3,1],f32> {
  %three = torch.constant.int 3
  %one = torch.constant.int 1
  %size = torch.prim.ListConstruct %three, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!x, !torch.list<int>) -> !torch.vtensor<[3,1],f32>
  return %0 : !torch.vtensor<[3,1],f32>
}

// Nothing was repeated; no size.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NOT: torch.operator
// CHECK: return %arg0, %arg0
func.func @as_it_is(%x: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) {
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %none = torch.constant.none
  %size = torch.prim.ListConstruct %two, %three : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!torch.vtensor<[2,3],f32>, !torch.list<int>) -> !torch.vtensor<[2,3],f32>
  %1 = torch.operator "aten._grad_sum_to_size"(%x, %none) : (!torch.vtensor<[2,3],f32>, !torch.none) -> !torch.vtensor<[2,3],f32>
  return %0, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>
}

// A size that the run gives, a tensor of unknown rank, and other operators stay.
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-2: torch.operator "aten._grad_sum_to_size"
// CHECK: torch.operator "mine.op"
// CHECK-NOT: sum.dim_IntList
func.func @unknown(%x: !x, %y: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  %size = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!x, !torch.list<int>) -> !torch.vtensor
  %1 = torch.operator "aten._grad_sum_to_size"(%y, %ones) : (!torch.vtensor, !torch.list<int>) -> !torch.vtensor
  %2 = torch.operator "mine.op"(%x) : (!x) -> !torch.vtensor
  return %0, %1, %2 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// A dim of size 1 was not repeated, to whatever it is summed.
// CHECK-LABEL: func.func @ones
// CHECK: %[[DIMS:.*]] = torch.prim.ListConstruct %{{[^,]*}} : (!torch.int) -> !torch.list<int>
// CHECK: %[[S:.*]] = torch.aten.sum.dim_IntList %arg0, %[[DIMS]], %true, %none : {{.*}} -> !torch.vtensor<[1,1],f32>
// CHECK: return %[[S]]
func.func @ones(%x: !torch.vtensor<[1,4],f32>) -> !torch.vtensor<[1,1],f32> {
  %one = torch.constant.int 1
  %size = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!torch.vtensor<[1,4],f32>, !torch.list<int>) -> !torch.vtensor<[1,1],f32>
  return %0 : !torch.vtensor<[1,1],f32>
}

// One size of as many as the tensor has dims is the run's.
// CHECK-LABEL: func.func @partly
// CHECK: %[[R:.*]] = torch.operator "aten._grad_sum_to_size"
// CHECK: return %[[R]]
func.func @partly(%x: !torch.vtensor<[3,4],f32>, %n: !torch.int) -> !torch.vtensor {
  %three = torch.constant.int 3
  %size = torch.prim.ListConstruct %three, %n : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!torch.vtensor<[3,4],f32>, !torch.list<int>) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// two sizes that must be equal: they are compared, and the result has the size that inference gives it
// CHECK-LABEL: func.func @symbolic
// CHECK: %[[ITEM:.*]] = torch.aten.__getitem__.t %[[SIZE:.*]], %
// CHECK: %[[SAME:.*]] = torch.aten.eq.int %{{.*}}, %[[ITEM]]
// CHECK: torch.runtime.assert %[[SAME]]
// CHECK: %[[S:.*]] = torch.aten.sum.dim_IntList %arg0
// CHECK: %[[N:.*]] = torch.aten.size.int %arg0, %int1
// CHECK: %[[LIST:.*]] = torch.prim.ListConstruct %[[N]]
// CHECK: %[[V:.*]] = torch.aten.view %[[S]], %[[LIST]]
// CHECK: return %[[V]]
func.func @symbolic(%x: !torch.vtensor<[?,?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s2 = torch.symbolic_int "s2" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0, %s1], affine_map<()[s0, s1] -> (s0, s1)> : !torch.vtensor<[?,?],f32>
  torch.bind_symbolic_shape %y, [%s2], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %size = torch.aten.size %y : !torch.vtensor<[?],f32> -> !torch.list<int>
  %0 = torch.operator "aten._grad_sum_to_size"(%x, %size) : (!torch.vtensor<[?,?],f32>, !torch.list<int>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
