// RUN: tierup-opt %s --split-input-file --tierup-asserts-to-status | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-asserts-to-status --tierup-asserts-to-status | FileCheck %s

// Sites count from 1; the attribute says where each came from. A loop that only a condition ends leaves once the status is set.
// CHECK-LABEL: func.func @sites
// CHECK-SAME: (%arg0: i1, %arg1: i64, [[STATUS:%.+]]: memref<i32>)
// CHECK-SAME: tierup.error_sites = [{message = "index out of range", op = "aten.gather", place = "x.py:3:4"}, {message = "second", op = "", place = ""}]
// CHECK: [[BAD:%.+]] = arith.xori %arg0, %true : i1
// CHECK-NEXT: scf.if [[BAD]] {
// CHECK-NEXT: [[ONE:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: memref.store [[ONE]], [[STATUS]][] : memref<i32>
// CHECK-NEXT: }
// CHECK: scf.while
// CHECK-NEXT: [[MORE:%.+]] = arith.cmpi slt
// CHECK-NEXT: [[SET:%.+]] = memref.load [[STATUS]][] : memref<i32>
// CHECK: [[CLEAR:%.+]] = arith.cmpi eq, [[SET]], %c0_i32 : i32
// CHECK-NEXT: [[BOTH:%.+]] = arith.andi [[MORE]], [[CLEAR]] : i1
// CHECK-NEXT: scf.condition([[BOTH]])
// CHECK: arith.constant 2 : i32
// CHECK-NEXT: memref.store
// CHECK-NOT: cf.assert
// CHECK: return
func.func @sites(%ok: i1, %limit: i64) attributes {tierup.result_kinds = []} {
  cf.assert %ok, "index out of range" loc("torch.aten.gather"("x.py":3:4))
  %c = arith.constant 1 : i64
  %r = scf.while (%i = %c) : (i64) -> i64 {
    %more = arith.cmpi slt, %i, %limit : i64
    scf.condition(%more) %i : i64
  } do {
  ^bb0(%i: i64):
    %n = arith.addi %i, %c : i64
    %ok2 = arith.cmpi sgt, %n, %i : i64
    cf.assert %ok2, "second"
    scf.yield %n : i64
  }
  return
}

// -----
// An entry has a status whether it asserts or not, beside arguments with attributes too; a counted loop runs to its end.
// CHECK-LABEL: func.func @nothing_asserted
// CHECK-SAME: (%arg0: i64 {tierup.name = "n"}, %arg1: memref<i32>) -> i64 attributes {tierup.error_sites = [],
// CHECK-NEXT: return
func.func @nothing_asserted(%n: i64 {tierup.name = "n"}) -> i64 attributes {tierup.result_kinds = ["scalar"]} {
  return %n : i64
}
// CHECK-LABEL: func.func @counted
// CHECK: scf.for
// CHECK-NOT: memref.load
// CHECK: memref.store
// CHECK: return
func.func @counted(%ok: i1, %n: index) attributes {tierup.result_kinds = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %ok, "each time"
  }
  return
}
// CHECK-LABEL: func.func @no_entry
// CHECK-SAME: (%arg0: i64) -> i64
// CHECK-NOT: tierup.error_sites
func.func @no_entry(%n: i64) -> i64 {
  return %n : i64
}
