// RUN: tierup-opt %s --tierup-stack-lists | FileCheck %s
// RUN: tierup-opt %s --tierup-stack-lists --tierup-stack-lists | FileCheck %s
!x = !torch.vtensor<[3],f32>
!l = !torch.list<vtensor>

// CHECK-LABEL: func.func @saved
// CHECK: %[[ROWS:.*]] = torch.prim.max.int %arg1
// CHECK: %[[SIZE:.*]] = torch.prim.ListConstruct %[[ROWS]], %int3
// CHECK: %[[START:.*]] = torch.aten.zeros %[[SIZE]], %int6
// CHECK: %[[R:.*]]:2 = torch.prim.Loop %arg1, %true, init(%arg0, %[[START]]) {
// CHECK: ^bb0(%[[I:.*]]: !torch.int, %[[A:.*]]: !torch.vtensor<[3],f32>, %[[L:.*]]: !torch.vtensor):
// CHECK: %[[MORE:.*]] = torch.aten.select_scatter %[[L]], %[[A]], %int0{{.*}}, %[[I]]
// CHECK: torch.prim.Loop.condition %true, iter(%{{.*}}, %[[MORE]]
// CHECK: torch.aten.select.int %[[R]]#1, %int0{{.*}}, %arg2
func.func @saved(%x: !x, %n: !torch.int, %k: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %l = torch.prim.ListConstruct : () -> !l
  %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
  ^bb0(%i: !torch.int, %a: !x, %m: !l):
    %one = torch.prim.ListConstruct %a : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    %b = torch.aten.sin %a : !x -> !x
    torch.prim.Loop.condition %true, iter(%b, %more : !x, !l)
  } : (!torch.int, !torch.bool, !x, !l) -> (!x, !l)
  %0 = torch.aten.__getitem__.t %r#1, %k : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// Sizes that change, a list that is looked at otherwise: it stays.
// CHECK-LABEL: func.func @grows
// CHECK-NOT: select_scatter
func.func @grows(%x: !x, %n: !torch.int, %k: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !l
  %y = torch.tensor_static_info_cast %x : !x to !torch.vtensor
  %r:2 = torch.prim.Loop %n, %true, init(%y, %l) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor, %m: !l):
    %one = torch.prim.ListConstruct %a : (!torch.vtensor) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    %two = torch.prim.ListConstruct %a, %a : (!torch.vtensor, !torch.vtensor) -> !l
    %b = torch.aten.cat %two, %zero : !l, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%b, %more : !torch.vtensor, !l)
  } : (!torch.int, !torch.bool, !torch.vtensor, !l) -> (!torch.vtensor, !l)
  %0 = torch.aten.__getitem__.t %r#1, %k : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// The iterations of a loop that ends by its condition are counted first.
// CHECK-LABEL: func.func @until
// CHECK: %[[N:.*]]:2 = torch.prim.Loop %arg1, %arg2, init(%arg0, %int0{{.*}}) {
// CHECK-NEXT: ^bb0(%[[I:.*]]: !torch.int, %{{.*}}: !torch.vtensor<[3],f32>, %{{.*}}: !torch.int):
// CHECK: torch.aten.sin
// CHECK: %[[MORE:.*]] = torch.aten.add.int %[[I]]
// CHECK: torch.prim.Loop.condition %{{.*}}, iter(%{{.*}}, %[[MORE]]
// CHECK: torch.aten.zeros
// CHECK: torch.prim.Loop %[[N]]#1, %true{{.*}}, init(
// CHECK: torch.aten.select_scatter
// CHECK: torch.aten.sin
// CHECK: torch.prim.Loop.condition %true
func.func @until(%x: !x, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %none = torch.constant.none
  %l = torch.prim.ListConstruct : () -> !l
  %r:2 = torch.prim.Loop %n, %c, init(%x, %l) {
  ^bb0(%i: !torch.int, %a: !x, %m: !l):
    %one = torch.prim.ListConstruct %a : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    %b = torch.aten.sin %a : !x -> !x
    %s = torch.aten.sum %b, %none : !x, !torch.none -> !torch.vtensor<[],f32>
    %t = torch.aten.Bool.Tensor %s : !torch.vtensor<[],f32> -> !torch.bool
    torch.prim.Loop.condition %t, iter(%b, %more : !x, !l)
  } : (!torch.int, !torch.bool, !x, !l) -> (!x, !l)
  %0 = torch.aten.__getitem__.t %r#1, %zero : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// What is written once is not written twice.
// CHECK-LABEL: func.func @writes
// CHECK-COUNT-1: torch.aten.add_.Tensor
// CHECK-NOT: select_scatter
func.func @writes(%x: !x, %y: !torch.tensor<[3],f32>, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !l
  %r = torch.prim.Loop %n, %c, init(%l) {
  ^bb0(%i: !torch.int, %m: !l):
    %one = torch.prim.ListConstruct %x : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    %0 = torch.aten.add_.Tensor %y, %y, %zero : !torch.tensor<[3],f32>, !torch.tensor<[3],f32>, !torch.int -> !torch.tensor<[3],f32>
    torch.prim.Loop.condition %c, iter(%more : !l)
  } : (!torch.int, !torch.bool, !l) -> !l
  %0 = torch.aten.__getitem__.t %r, %zero : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// How many items there are is how often the loop runs.
// CHECK-LABEL: func.func @counted
// CHECK: %[[ROWS:.*]] = torch.prim.max.int %arg1
// CHECK: select_scatter
// CHECK: return %[[ROWS]] : !torch.int
func.func @counted(%x: !x, %n: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !l
  %r = torch.prim.Loop %n, %true, init(%l) {
  ^bb0(%i: !torch.int, %m: !l):
    %one = torch.prim.ListConstruct %x : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    torch.prim.Loop.condition %true, iter(%more : !l)
  } : (!torch.int, !torch.bool, !l) -> !l
  %0 = torch.aten.len.t %r : !l -> !torch.int
  return %0 : !torch.int
}

// A stack is the tensor, its rows where they are to be; joined rows lie in their dim. Of no rows there is none.
// CHECK-LABEL: func.func @joined
// CHECK: %[[R:.*]]:2 = torch.prim.Loop
// CHECK: %[[SOME:.*]] = torch.aten.gt.int
// CHECK: torch.runtime.assert %[[SOME]], "expected a non-empty list of tensors"
// CHECK: %[[P:.*]] = torch.aten.permute %[[R]]#1
// CHECK: %[[J:.*]] = torch.aten.flatten.using_ints %[[R]]#1, %int0{{.*}}, %int1
// CHECK: return
func.func @joined(%x: !x, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %last = torch.constant.int -1
  %l = torch.prim.ListConstruct : () -> !l
  %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
  ^bb0(%i: !torch.int, %a: !x, %m: !l):
    %one = torch.prim.ListConstruct %a : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    %b = torch.aten.sin %a : !x -> !x
    torch.prim.Loop.condition %true, iter(%b, %more : !x, !l)
  } : (!torch.int, !torch.bool, !x, !l) -> (!x, !l)
  %0 = torch.aten.stack %r#1, %last : !l, !torch.int -> !torch.vtensor
  %1 = torch.aten.cat %r#1, %zero : !l, !torch.int -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
