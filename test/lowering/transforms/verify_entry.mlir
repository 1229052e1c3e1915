// RUN: tierup-opt %s --split-input-file --tierup-verify-entry --verify-diagnostics | FileCheck %s
// RUN: not tierup-opt %s --split-input-file --tierup-pipeline=compile-cpu 2>&1 | FileCheck %s --check-prefix=COMPILE
// COMPILE: error: 'func.func' op has no guards of a version
// COMPILE-NOT: lowering

// expected-error@+1 {{has no guards of a version (tierup.entry, tierup.guard) to compile it for; `tierup-run --repeat 2 --emit=recorded`}}
func.func @never_recorded(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.relu %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----

// CHECK-LABEL: @recorded
func.func @recorded(%x: !torch.vtensor {tierup.guard = {dtype = "f32", kind = "array", sizes = [2]}}) -> !torch.vtensor attributes {tierup.entry} {
  %0 = torch.aten.relu %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// CHECK-NOT: @
