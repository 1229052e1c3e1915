// RUN: tierup-opt %s --pass-pipeline='func.func(cse),tierup-verify-graph' --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: tierup-opt %s --pass-pipeline='func.func(cse),tierup-verify-graph' --mlir-print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: tierup-opt %s --cse --tierup-verify-graph --mlir-print-ir-after=tierup-verify-graph -o %t 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not tierup-opt %s --cse --tierup-verify-specialized --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=FAILED
// RUN: tierup-opt %s --pass-pipeline='func.func(cse)' --mlir-print-ir-after-all --mlir-print-ir-module-scope -o %t 2>&1 | FileCheck %s --check-prefix=SCOPE

// ALL: // -----// IR Dump After cse ('func.func' operation: @f) //----- //
// ALL-NEXT: func.func @f
// ALL: // -----// IR Dump After cse ('func.func' operation: @g) //----- //
// ALL-NEXT: func.func @g
// ALL: // -----// IR Dump After tierup-verify-graph //----- //
// ALL-NEXT: module

// BEFORE: // -----// IR Dump Before cse ('func.func' operation: @f) //----- //
// BEFORE: // -----// IR Dump Before tierup-verify-graph //----- //

// ONE-NOT: IR Dump After cse
// ONE: // -----// IR Dump After tierup-verify-graph //----- //

// FAILED: // -----// IR Dump After cse //----- //
// FAILED: // -----// IR Dump After tierup-verify-specialized Failed //----- //
// FAILED: error: 'func.func' op breaks the contract 'specialized'

// SCOPE: // -----// IR Dump After cse ('func.func' operation: @f) //----- //
// SCOPE-NEXT: module

func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
func.func @g() {
  return
}
