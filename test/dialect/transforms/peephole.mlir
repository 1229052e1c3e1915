// RUN: tierup-opt %s --tierup-peephole="disable-shape" --split-input-file | FileCheck %s --check-prefix=OFF
// RUN: tierup-opt %s --tierup-peephole --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole,tierup-peephole)" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-peephole="refine-list-len" --split-input-file | FileCheck %s --check-prefix=REFINED

// One part makes work for another: the size, the list of it, the number added to it.
// CHECK-LABEL: func.func @together
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[2,3],f32>, %[[N:[a-z0-9]+]]: !torch.int
// OFF-LABEL: func.func @together
func.func @together(%x: !torch.vtensor<[2,3],f32>, %n: !torch.int) -> (!torch.int, !torch.vtensor<[2,3],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  // OFF: torch.aten.size %
  %0 = torch.aten.size %x : !torch.vtensor<[2,3],f32> -> !torch.list<int>
  %1 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  // OFF: torch.aten.add.t
  %2 = torch.aten.add.t %1, %0 : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  %3 = torch.aten.__getitem__.t %2, %int1 : !torch.list<int>, !torch.int -> !torch.int
  // CHECK: %[[TWO:.*]] = torch.constant.int 2
  %4 = torch.aten.mul.int %3, %int1 : !torch.int, !torch.int -> !torch.int
  // OFF: torch.aten.mul.Scalar
  %5 = torch.aten.mul.Scalar %x, %int1 : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
  // CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %[[X]]
  %6 = torch.aten.tanh %5 : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  // CHECK-NEXT: return %[[TWO]], %[[T]]
  return %4, %6 : !torch.int, !torch.vtensor<[2,3],f32>
}

// -----
// What types do not say needs no types.
// CHECK-LABEL: func.func @without_shapes
// OFF-LABEL: func.func @without_shapes
// OFF-SAME: %[[N:[a-z0-9]+]]: !torch.int
func.func @without_shapes(%n: !torch.int) -> !torch.int {
  %int0 = torch.constant.int 0
  %0 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %1 = torch.aten.__getitem__.t %0, %int0 : !torch.list<int>, !torch.int -> !torch.int
  // OFF-NEXT: return %[[N]]
  return %1 : !torch.int
}

// -----
// The length that a branch has compared is folded only where that is asked for.
// CHECK-LABEL: func.func @compared_length
// REFINED-LABEL: func.func @compared_length
func.func @compared_length(%l: !torch.list<int>, %m: !torch.int) -> !torch.int {
  %two = torch.constant.int 2
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  %r = torch.prim.If %c -> (!torch.int) {
    // CHECK: torch.prim.If
    // CHECK-NEXT: %[[N:.*]] = torch.aten.len.t
    // CHECK: torch.prim.If.yield %[[N]]
    // REFINED: torch.prim.If.yield %int2
    %k = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %k : !torch.int
  } else {
    torch.prim.If.yield %m : !torch.int
  }
  return %r : !torch.int
}
