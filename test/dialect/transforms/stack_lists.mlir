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

// Sizes that change, a loop that ends by its condition, a list that is looked at otherwise: it stays.
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

// CHECK-LABEL: func.func @until
// CHECK-NOT: select_scatter
func.func @until(%x: !x, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor {
  %false = torch.constant.bool false
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !l
  %r = torch.prim.Loop %n, %c, init(%l) {
  ^bb0(%i: !torch.int, %m: !l):
    %one = torch.prim.ListConstruct %x : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    torch.prim.Loop.condition %false, iter(%more : !l)
  } : (!torch.int, !torch.bool, !l) -> !l
  %0 = torch.aten.__getitem__.t %r, %zero : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// CHECK-LABEL: func.func @joined
// CHECK-NOT: select_scatter
func.func @joined(%x: !x, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !l
  %r = torch.prim.Loop %n, %true, init(%l) {
  ^bb0(%i: !torch.int, %m: !l):
    %one = torch.prim.ListConstruct %x : (!x) -> !l
    %more = torch.aten.add.t %m, %one : !l, !l -> !l
    torch.prim.Loop.condition %true, iter(%more : !l)
  } : (!torch.int, !torch.bool, !l) -> !l
  %0 = torch.aten.cat %r, %zero : !l, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}
