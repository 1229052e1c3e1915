// RUN: tierup-opt %s --tierup-unroll-loops --split-input-file | FileCheck %s

// Eight rounds at once, where nothing else is said.
// CHECK-LABEL: func.func @by_eight
// CHECK: torch.aten.floordiv.int %{{.*}}, %int8
// CHECK: torch.prim.Loop
// CHECK-COUNT-8: torch.aten.add.int
// CHECK-NEXT: torch.prim.Loop.condition
// CHECK: tierup.unrolled = 8
func.func @by_eight(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// The largest count of which no loop is left.
// CHECK-LABEL: func.func @whole_up_to_63
// CHECK-NOT: torch.prim.Loop
// CHECK-COUNT-63: torch.aten.add.int
// CHECK-NEXT: return
func.func @whole_up_to_63(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %trip = torch.constant.int 63
  %0 = torch.prim.Loop %trip, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// One more.
// CHECK-LABEL: func.func @not_whole_from_64
// CHECK: torch.prim.Loop
// CHECK: tierup.unrolled = 8
func.func @not_whole_from_64(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %trip = torch.constant.int 64
  %0 = torch.prim.Loop %trip, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%1 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// The largest body.
// CHECK-LABEL: func.func @up_to_32_ops
// CHECK-NOT: torch.prim.Loop
// CHECK-COUNT-64: torch.aten.add.int
// CHECK-NEXT: return
func.func @up_to_32_ops(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %trip = torch.constant.int 2
  %0 = torch.prim.Loop %trip, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %n : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.add.int %1, %n : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.add.int %2, %n : !torch.int, !torch.int -> !torch.int
    %4 = torch.aten.add.int %3, %n : !torch.int, !torch.int -> !torch.int
    %5 = torch.aten.add.int %4, %n : !torch.int, !torch.int -> !torch.int
    %6 = torch.aten.add.int %5, %n : !torch.int, !torch.int -> !torch.int
    %7 = torch.aten.add.int %6, %n : !torch.int, !torch.int -> !torch.int
    %8 = torch.aten.add.int %7, %n : !torch.int, !torch.int -> !torch.int
    %9 = torch.aten.add.int %8, %n : !torch.int, !torch.int -> !torch.int
    %10 = torch.aten.add.int %9, %n : !torch.int, !torch.int -> !torch.int
    %11 = torch.aten.add.int %10, %n : !torch.int, !torch.int -> !torch.int
    %12 = torch.aten.add.int %11, %n : !torch.int, !torch.int -> !torch.int
    %13 = torch.aten.add.int %12, %n : !torch.int, !torch.int -> !torch.int
    %14 = torch.aten.add.int %13, %n : !torch.int, !torch.int -> !torch.int
    %15 = torch.aten.add.int %14, %n : !torch.int, !torch.int -> !torch.int
    %16 = torch.aten.add.int %15, %n : !torch.int, !torch.int -> !torch.int
    %17 = torch.aten.add.int %16, %n : !torch.int, !torch.int -> !torch.int
    %18 = torch.aten.add.int %17, %n : !torch.int, !torch.int -> !torch.int
    %19 = torch.aten.add.int %18, %n : !torch.int, !torch.int -> !torch.int
    %20 = torch.aten.add.int %19, %n : !torch.int, !torch.int -> !torch.int
    %21 = torch.aten.add.int %20, %n : !torch.int, !torch.int -> !torch.int
    %22 = torch.aten.add.int %21, %n : !torch.int, !torch.int -> !torch.int
    %23 = torch.aten.add.int %22, %n : !torch.int, !torch.int -> !torch.int
    %24 = torch.aten.add.int %23, %n : !torch.int, !torch.int -> !torch.int
    %25 = torch.aten.add.int %24, %n : !torch.int, !torch.int -> !torch.int
    %26 = torch.aten.add.int %25, %n : !torch.int, !torch.int -> !torch.int
    %27 = torch.aten.add.int %26, %n : !torch.int, !torch.int -> !torch.int
    %28 = torch.aten.add.int %27, %n : !torch.int, !torch.int -> !torch.int
    %29 = torch.aten.add.int %28, %n : !torch.int, !torch.int -> !torch.int
    %30 = torch.aten.add.int %29, %n : !torch.int, !torch.int -> !torch.int
    %31 = torch.aten.add.int %30, %n : !torch.int, !torch.int -> !torch.int
    %32 = torch.aten.add.int %31, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%32 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}

// -----
// One more.
// CHECK-LABEL: func.func @not_33_ops
// CHECK: torch.prim.Loop
// CHECK-COUNT-33: torch.aten.add.int
// CHECK-NEXT: torch.prim.Loop.condition
func.func @not_33_ops(%n: !torch.int, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %trip = torch.constant.int 2
  %0 = torch.prim.Loop %trip, %true, init(%x) {
  ^bb0(%i: !torch.int, %s: !torch.int):
    %1 = torch.aten.add.int %s, %n : !torch.int, !torch.int -> !torch.int
    %2 = torch.aten.add.int %1, %n : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.add.int %2, %n : !torch.int, !torch.int -> !torch.int
    %4 = torch.aten.add.int %3, %n : !torch.int, !torch.int -> !torch.int
    %5 = torch.aten.add.int %4, %n : !torch.int, !torch.int -> !torch.int
    %6 = torch.aten.add.int %5, %n : !torch.int, !torch.int -> !torch.int
    %7 = torch.aten.add.int %6, %n : !torch.int, !torch.int -> !torch.int
    %8 = torch.aten.add.int %7, %n : !torch.int, !torch.int -> !torch.int
    %9 = torch.aten.add.int %8, %n : !torch.int, !torch.int -> !torch.int
    %10 = torch.aten.add.int %9, %n : !torch.int, !torch.int -> !torch.int
    %11 = torch.aten.add.int %10, %n : !torch.int, !torch.int -> !torch.int
    %12 = torch.aten.add.int %11, %n : !torch.int, !torch.int -> !torch.int
    %13 = torch.aten.add.int %12, %n : !torch.int, !torch.int -> !torch.int
    %14 = torch.aten.add.int %13, %n : !torch.int, !torch.int -> !torch.int
    %15 = torch.aten.add.int %14, %n : !torch.int, !torch.int -> !torch.int
    %16 = torch.aten.add.int %15, %n : !torch.int, !torch.int -> !torch.int
    %17 = torch.aten.add.int %16, %n : !torch.int, !torch.int -> !torch.int
    %18 = torch.aten.add.int %17, %n : !torch.int, !torch.int -> !torch.int
    %19 = torch.aten.add.int %18, %n : !torch.int, !torch.int -> !torch.int
    %20 = torch.aten.add.int %19, %n : !torch.int, !torch.int -> !torch.int
    %21 = torch.aten.add.int %20, %n : !torch.int, !torch.int -> !torch.int
    %22 = torch.aten.add.int %21, %n : !torch.int, !torch.int -> !torch.int
    %23 = torch.aten.add.int %22, %n : !torch.int, !torch.int -> !torch.int
    %24 = torch.aten.add.int %23, %n : !torch.int, !torch.int -> !torch.int
    %25 = torch.aten.add.int %24, %n : !torch.int, !torch.int -> !torch.int
    %26 = torch.aten.add.int %25, %n : !torch.int, !torch.int -> !torch.int
    %27 = torch.aten.add.int %26, %n : !torch.int, !torch.int -> !torch.int
    %28 = torch.aten.add.int %27, %n : !torch.int, !torch.int -> !torch.int
    %29 = torch.aten.add.int %28, %n : !torch.int, !torch.int -> !torch.int
    %30 = torch.aten.add.int %29, %n : !torch.int, !torch.int -> !torch.int
    %31 = torch.aten.add.int %30, %n : !torch.int, !torch.int -> !torch.int
    %32 = torch.aten.add.int %31, %n : !torch.int, !torch.int -> !torch.int
    %33 = torch.aten.add.int %32, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.Loop.condition %true, iter(%33 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %0 : !torch.int
}
