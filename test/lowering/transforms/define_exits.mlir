// RUN: tierup-opt %s --split-input-file --tierup-define-exits | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-define-exits --tierup-define-exits | FileCheck %s

// Where no check has failed before, live memory is copied for the caller; the status is 1 below the negative index.
// CHECK-LABEL: func.func @main
// CHECK: call @main_exit3(%arg0, %arg1, %arg2, %arg3, %arg4, %arg6)
// CHECK: call @main_forced
// CHECK-LABEL: func.func private @main_exit3
// CHECK-SAME: (%[[X:.*]]: memref<?x2xf32, strided<[?, ?], offset: ?>>, %[[N:.*]]: i64, %[[C:.*]]: i1, %[[F:.*]]: f64, %[[LIVE:.*]]: memref<6xi64>, %[[STATUS:.*]]: memref<i32>)
// CHECK: %[[S:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[CLEAR:.*]] = arith.cmpi eq, %[[S]], %c0
// CHECK: scf.if %[[CLEAR]] {
// CHECK: %[[COPY:.*]] = memref.alloc(%{{.*}}) : memref<?x2xf32>
// CHECK-NEXT: memref.copy %[[X]], %[[COPY]]
// CHECK: memref.extract_aligned_pointer_as_index %[[COPY]]
// CHECK-COUNT-6: memref.store %{{.*}}, %[[LIVE]]
// CHECK: %[[CODE:.*]] = arith.constant -4 : i32
// CHECK: memref.store %[[CODE]], %[[STATUS]][]
// CHECK: return
// CHECK-LABEL: func.func private @main_forced
// CHECK: memref.store
// CHECK: return %{{.*}} : i1
func.func @main(%x: memref<?x2xf32, strided<[?, ?], offset: ?>>, %n: i64, %c: i1, %f: f64, %live: memref<6xi64>, %force: memref<3xi64>, %status: memref<i32>) -> i1 attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  call @main_exit3(%x, %n, %c, %f, %live) : (memref<?x2xf32, strided<[?, ?], offset: ?>>, i64, i1, f64, memref<6xi64>) -> ()
  %0 = call @main_forced(%n, %n, %force) : (i64, i64, memref<3xi64>) -> i1
  return %0 : i1
}
func.func private @main_exit3(memref<?x2xf32, strided<[?, ?], offset: ?>>, i64, i1, f64, memref<6xi64>) attributes {tierup.exit = 3 : i64}
func.func private @main_forced(i64, i64, memref<3xi64>) -> i1 attributes {tierup.forced}

// -----
// Nothing to do: a function of someone else's.
// CHECK-LABEL: func.func private @other(i64)
func.func private @other(i64)
