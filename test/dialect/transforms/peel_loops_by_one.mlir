// RUN: tierup-opt %s --tierup-peel-loops --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-peel-loops="count=1" --split-input-file | FileCheck %s

// One round, where nothing else is said; both carried values go on to the rest.
// CHECK-LABEL: func.func @two_values
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.int, %[[A:[a-z0-9]+]]: !torch.int, %[[B:[a-z0-9]+]]: !torch.int
func.func @two_values(%n: !torch.int, %a: !torch.int, %b: !torch.int) -> (!torch.int, !torch.int) {
  %true = torch.constant.bool true
  // CHECK: torch.prim.min.int %[[N]], %int1
  // CHECK: %[[HEAD:.*]]:2 = torch.prim.Loop %{{.*}}, %true, init(%[[A]], %[[B]])
  // CHECK: tierup.peeled = 1
  // CHECK: %[[REST:.*]]:2 = torch.prim.Loop %{{.*}}, %true, init(%[[HEAD]]#0, %[[HEAD]]#1)
  // CHECK: return %[[REST]]#0, %[[REST]]#1
  %0:2 = torch.prim.Loop %n, %true, init(%a, %b) {
  ^bb0(%i: !torch.int, %s: !torch.int, %t: !torch.int):
    %1 = torch.aten.add.int %s, %t : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%t, %1 : !torch.int, !torch.int)
  } : (!torch.int, !torch.bool, !torch.int, !torch.int) -> (!torch.int, !torch.int)
  return %0#0, %0#1 : !torch.int, !torch.int
}
