// RUN: not tierup-opt %s 2>&1 | FileCheck %s
// RUN: not tierup-opt - < %s 2>&1 | FileCheck %s --check-prefix=STDIN
// A parse error names the file, line and column and shows the line.

// CHECK: malformed.mlir:10:8: error: custom op 'torch.aten.tahn' is unknown
// CHECK-NEXT: %0 = torch.aten.tahn %x
// CHECK-NEXT: {{^ *\^}}
// STDIN: <stdin>:10:8: error: custom op 'torch.aten.tahn' is unknown
func.func @f(%x: !torch.vtensor) {
  %0 = torch.aten.tahn %x : !torch.vtensor -> !torch.vtensor
  return
}
