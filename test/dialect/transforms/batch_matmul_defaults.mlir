// RUN: tierup-opt %s --tierup-batch-matmul | FileCheck %s
// RUN: tierup-opt %s --tierup-batch-matmul --tierup-batch-matmul | FileCheck %s
// RUN: tierup-opt %s --tierup-batch-matmul="max-elements=0" | FileCheck %s --check-prefix=UNBOUNDED
// UNBOUNDED: tierup.batched_mm_side{{.*}}max_elements = 0

!t = !torch.vtensor

// Eight products of one matrix are worth it, where nothing else is said.
// CHECK-LABEL: func.func @eight
// CHECK: "tierup.batched_mm_side"(%arg0, %arg1, {{.*}}, %arg8)
// CHECK-NOT: torch.aten.mm
func.func @eight(%a: !t, %b0: !t, %b1: !t, %b2: !t, %b3: !t, %b4: !t, %b5: !t, %b6: !t, %b7: !t) -> (!t, !t, !t, !t, !t, !t, !t, !t) {
  %0 = torch.aten.mm %a, %b0 : !t, !t -> !t
  %1 = torch.aten.mm %a, %b1 : !t, !t -> !t
  %2 = torch.aten.mm %a, %b2 : !t, !t -> !t
  %3 = torch.aten.mm %a, %b3 : !t, !t -> !t
  %4 = torch.aten.mm %a, %b4 : !t, !t -> !t
  %5 = torch.aten.mm %a, %b5 : !t, !t -> !t
  %6 = torch.aten.mm %a, %b6 : !t, !t -> !t
  %7 = torch.aten.mm %a, %b7 : !t, !t -> !t
  return %0, %1, %2, %3, %4, %5, %6, %7 : !t, !t, !t, !t, !t, !t, !t, !t
}

// Seven are not.
// CHECK-LABEL: func.func @seven
// CHECK-COUNT-7: torch.aten.mm
// CHECK-NOT: tierup
func.func @seven(%a: !t, %b0: !t, %b1: !t, %b2: !t, %b3: !t, %b4: !t, %b5: !t, %b6: !t) -> (!t, !t, !t, !t, !t, !t, !t) {
  %0 = torch.aten.mm %a, %b0 : !t, !t -> !t
  %1 = torch.aten.mm %a, %b1 : !t, !t -> !t
  %2 = torch.aten.mm %a, %b2 : !t, !t -> !t
  %3 = torch.aten.mm %a, %b3 : !t, !t -> !t
  %4 = torch.aten.mm %a, %b4 : !t, !t -> !t
  %5 = torch.aten.mm %a, %b5 : !t, !t -> !t
  %6 = torch.aten.mm %a, %b6 : !t, !t -> !t
  return %0, %1, %2, %3, %4, %5, %6 : !t, !t, !t, !t, !t, !t, !t
}
