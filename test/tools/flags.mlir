// RUN: tierup-opt %s --canonicalize --tierup-verify-graph --cse | FileCheck %s
// RUN: tierup-opt --pass-pipeline='builtin.module(func.func(canonicalize),tierup-verify-graph,cse)' %s | FileCheck %s
// RUN: tierup-opt --pass-pipeline='tierup-verify-graph,func.func(canonicalize,cse)' < %s | FileCheck %s
// RUN: tierup-opt - -canonicalize < %s | tierup-opt -cse -o - | FileCheck %s
// Passes of tierup and of MLIR, as flags or as one text, at any nesting; a file, stdin.

// CHECK-LABEL: func.func @twice
func.func @twice(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  // CHECK: %[[T:.*]] = torch.aten.tanh
  // CHECK-NEXT: return %[[T]], %[[T]]
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
