// RUN: tierup-opt %s --canonicalize --cse --canonicalize | FileCheck %s
// What MLIR's clean-up may do to torch ops, by their effects.

// CHECK-LABEL: func.func @equal_pure_ops_merge
func.func @equal_pure_ops_merge(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  // CHECK: %[[T:.*]] = torch.aten.tanh
  // CHECK-NOT: torch.aten.tanh
  // CHECK: return %[[T]], %[[T]]
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// CHECK-LABEL: func.func @unused_pure_ops_go
func.func @unused_pure_ops_go(%x: !torch.vtensor, %m: !torch.tensor) {
  // CHECK-NEXT: return
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.exp %m : !torch.tensor -> !torch.tensor
  %2 = torch.aten.size %x : !torch.vtensor -> !torch.list<int>
  return
}

// CHECK-LABEL: func.func @promotion_is_part_of_the_op
func.func @promotion_is_part_of_the_op(%x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  // CHECK: torch.aten.mul.Tensor %arg0, %arg1 {tierup.promotion = "numpy"}
  // CHECK: torch.aten.mul.Tensor %arg0, %arg1 :
  %0 = torch.aten.mul.Tensor %x, %y {tierup.promotion = "numpy"} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// CHECK-LABEL: func.func @mutable_results_stay_apart
func.func @mutable_results_stay_apart(%m: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %one = torch.constant.int 1
  // CHECK: %[[A:.*]] = torch.aten.tanh
  // CHECK: %[[B:.*]] = torch.aten.tanh
  %0 = torch.aten.tanh %m : !torch.tensor -> !torch.tensor
  %1 = torch.aten.tanh %m : !torch.tensor -> !torch.tensor
  // CHECK: torch.aten.add_.Scalar %[[A]]
  %2 = torch.aten.add_.Scalar %0, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  return %0, %1 : !torch.tensor, !torch.tensor
}

// CHECK-LABEL: func.func @reads_do_not_cross_writes
func.func @reads_do_not_cross_writes(%m: !torch.tensor) -> (!torch.float, !torch.float, !torch.float) {
  // CHECK: %[[A:.*]] = torch.aten.FloatImplicit
  // CHECK: torch.aten.zero_
  // CHECK: %[[B:.*]] = torch.aten.FloatImplicit
  // CHECK: return %[[A]], %{{.*}}, %[[B]]
  %0 = torch.aten.FloatImplicit %m : !torch.tensor -> !torch.float
  %1 = torch.aten.FloatImplicit %m : !torch.tensor -> !torch.float
  %2 = torch.aten.zero_ %m : !torch.tensor -> !torch.tensor
  %3 = torch.aten.FloatImplicit %m : !torch.tensor -> !torch.float
  return %0, %1, %3 : !torch.float, !torch.float, !torch.float
}

// CHECK-LABEL: func.func @views_of_mutable_memory_merge
func.func @views_of_mutable_memory_merge(%m: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  // CHECK: %[[V:.*]] = torch.aten.t
  // CHECK: return %[[V]], %[[V]]
  %0 = torch.aten.t %m : !torch.tensor -> !torch.tensor
  %1 = torch.aten.t %m : !torch.tensor -> !torch.tensor
  return %0, %1 : !torch.tensor, !torch.tensor
}

// CHECK-LABEL: func.func @what_may_raise_stays
func.func @what_may_raise_stays(%x: !torch.vtensor, %i: !torch.vtensor, %n: !torch.int, %m: !torch.int) {
  %zero = torch.constant.int 0
  // CHECK: torch.aten.index_select
  %0 = torch.aten.index_select %x, %zero, %i : !torch.vtensor, !torch.int, !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.floordiv.int
  %1 = torch.aten.floordiv.int %n, %m : !torch.int, !torch.int -> !torch.int
  return
}

// CHECK-LABEL: func.func @writes_stay
func.func @writes_stay(%m: !torch.tensor) {
  // CHECK: torch.aten.zero_
  %0 = torch.aten.zero_ %m : !torch.tensor -> !torch.tensor
  return
}

// CHECK-LABEL: func.func @profiles_stay_and_stay_apart
func.func @profiles_stay_and_stay_apart(%x: !torch.vtensor) {
  // CHECK: "tierup.profile"(%arg0) {slot = 0 : i64}
  // CHECK: "tierup.profile"(%arg0) {slot = 0 : i64}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  return
}

// CHECK-LABEL: func.func @what_reads_a_growing_list_stays_apart
func.func @what_reads_a_growing_list_stays_apart(%x: !torch.vtensor, %m: !torch.list<int>) -> (!torch.int, !torch.int, !torch.int, !torch.int) {
  %l = torch.prim.ListConstruct %x : (!torch.vtensor) -> !torch.list<vtensor>
  // CHECK: %[[A:.*]] = torch.aten.len.t
  %a = torch.aten.len.t %l : !torch.list<vtensor> -> !torch.int
  %w = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  // CHECK: %[[B:.*]] = torch.aten.len.t
  %b = torch.aten.len.t %l : !torch.list<vtensor> -> !torch.int
  // CHECK: %[[C:.*]] = torch.aten.len.t
  %c = torch.aten.len.t %m : !torch.list<int> -> !torch.int
  %d = torch.aten.len.t %m : !torch.list<int> -> !torch.int
  // CHECK-NOT: torch.aten.len.t
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[C]]
  return %a, %b, %c, %d : !torch.int, !torch.int, !torch.int, !torch.int
}
