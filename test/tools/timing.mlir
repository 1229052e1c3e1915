// RUN: tierup-opt %s --cse --tierup-verify-graph --mlir-timing -o %t 2>&1 | FileCheck %s

// CHECK: Execution time report
// CHECK: Total Execution Time:
// CHECK: ----Time----  ---Share--  Runs  ----Pass----
// CHECK-NEXT: {{[0-9.]+ s +[0-9.]+%}} 1 cse
// CHECK-NEXT: 1 tierup-verify-graph
// CHECK-NEXT: 100.0% Total
func.func @f() {
  return
}
