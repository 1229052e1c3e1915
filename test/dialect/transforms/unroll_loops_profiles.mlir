// RUN: tierup-opt %s --tierup-unroll-loops="factor=2 max-trips=3 profiles=true" --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-unroll-loops{factor=2 max-trips=3 profiles=true},tierup-unroll-loops{factor=2 max-trips=3 profiles=true})" --split-input-file | FileCheck %s

// Recording is over: the copies share the slot and its record.
// CHECK-LABEL: func.func @recorded
// CHECK: torch.prim.Loop
// CHECK-COUNT-2: "tierup.profile"({{%.+}}) {profiled = #tierup.profiled<f32[4]>, slot = 0 : i64}
// CHECK: tierup.unrolled = 2
// CHECK: torch.prim.Loop
// CHECK-COUNT-1: "tierup.profile"({{%.+}}) {profiled = #tierup.profiled<f32[4]>, slot = 0 : i64}
// CHECK-NOT: "tierup.profile"
func.func @recorded(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @whole
// CHECK-NOT: torch.prim.Loop
// CHECK-COUNT-3: "tierup.profile"
// CHECK-NOT: "tierup.profile"
func.func @whole(%x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %n = torch.constant.int 3
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Runs are still counted: a slot is one place.
// CHECK-LABEL: func.func @recording
// CHECK-COUNT-1: "tierup.profile"
// CHECK-NOT: "tierup.profile"
func.func @recording(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %0 : !torch.vtensor
}

// -----
// A point to resume at is one place, with or without profiles beside it.
// CHECK-LABEL: func.func @bailout
// CHECK-COUNT-1: "tierup.bailout"
// CHECK-NOT: "tierup.bailout"
func.func @bailout(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %1 = "tierup.profile"(%a) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
    %2 = "tierup.bailout"(%1, %n, %i) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor, !torch.int, !torch.int) -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
