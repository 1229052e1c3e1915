// RUN: tierup-opt %s --split-input-file --tierup-define-exits | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-define-exits --tierup-define-exits | FileCheck %s

// Where no check has failed before, the caller gets the allocation, the address, sizes and strides of live memory; it is copied only when
// it is no allocation of the kernel's. The status is 1 below the negative index.
// CHECK-LABEL: func.func @main
// CHECK: call @main_forced
// CHECK: call @main_exit3(%arg0, %arg1, %arg2, %arg3, %arg4, %arg6)
// CHECK-LABEL: func.func private @main_exit3
// CHECK-SAME: (%[[X:.*]]: memref<?x2xf32, strided<[?, ?], offset: ?>>, %[[N:.*]]: i64, %[[C:.*]]: i1, %[[F:.*]]: f64, %[[LIVE:.*]]: memref<10xi64>, %[[STATUS:.*]]: memref<i32>)
// CHECK: %[[S:.*]] = memref.load %[[STATUS]][]
// CHECK: %[[CLEAR:.*]] = arith.cmpi eq, %[[S]], %c0
// CHECK: scf.if %[[CLEAR]] {
// CHECK: %[[POINTER:.*]] = llvm.extractvalue %{{.*}}[0]
// CHECK: %[[OWNER:.*]] = llvm.ptrtoint %[[POINTER]]
// CHECK-DAG: %[[NULL:.*]] = arith.cmpi eq, %[[OWNER]], %c0
// CHECK-DAG: %[[GLOBAL:.*]] = arith.cmpi eq, %[[OWNER]], %c3735928559
// CHECK: %[[FOREIGN:.*]] = arith.ori %[[NULL]], %[[GLOBAL]]
// CHECK: %{{.*}}:6 = scf.if %[[FOREIGN]] -> (i64, i64, i64, i64, i64, i64) {
// CHECK: %[[COPY:.*]] = memref.alloc(%{{.*}}) : memref<?x2xf32>
// CHECK-NEXT: memref.copy %[[X]], %[[COPY]]
// CHECK: } else {
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: memref.extract_strided_metadata %[[X]]
// CHECK: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: }
// CHECK: memref.store %{{.*}}, %[[LIVE]]
// CHECK-COUNT-9: memref.store %{{.*}}, %[[LIVE]]
// CHECK: %[[CODE:.*]] = arith.constant -4 : i32
// CHECK: memref.store %[[CODE]], %[[STATUS]][]
// CHECK: return
// CHECK-LABEL: func.func private @main_forced
// CHECK: memref.store
// CHECK: return %{{.*}} : i1
func.func @main(%x: memref<?x2xf32, strided<[?, ?], offset: ?>>, %n: i64, %c: i1, %f: f64, %live: memref<10xi64>, %force: memref<3xi64>, %status: memref<i32>) -> i1 attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %0 = call @main_forced(%n, %n, %force) : (i64, i64, memref<3xi64>) -> i1
  call @main_exit3(%x, %n, %c, %f, %live) : (memref<?x2xf32, strided<[?, ?], offset: ?>>, i64, i1, f64, memref<10xi64>) -> ()
  return %0 : i1
}
func.func private @main_exit3(memref<?x2xf32, strided<[?, ?], offset: ?>>, i64, i1, f64, memref<10xi64>) attributes {tierup.exit = 3 : i64}
func.func private @main_forced(i64, i64, memref<3xi64>) -> i1 attributes {tierup.forced}

// -----
// An i1 takes a byte.
// CHECK-LABEL: func.func private @bits_exit0
// CHECK: arith.constant 1 : i64
// CHECK-NOT: linalg
func.func @bits(%x: memref<4xi1>, %live: memref<5xi64>, %status: memref<i32>) attributes {tierup.result_kinds = [], tierup.error_sites = []} {
  call @bits_exit0(%x, %live) : (memref<4xi1>, memref<5xi64>) -> ()
  return
}
func.func private @bits_exit0(memref<4xi1>, memref<5xi64>) attributes {tierup.exit = 0 : i64}

// -----
// What is written or returned after the exit is copied whosever it is: %kept goes as it is, for all that is done to it is behind
// conditions that do not hold once control has left.
// CHECK-LABEL: func.func private @after_exit0
// CHECK-SAME: (%[[KEPT:.*]]: memref<4xf32>, %[[WRITTEN:.*]]: memref<4xf32>, %[[RETURNED:.*]]: memref<4xf32>, %{{.*}}: memref<13xi64>, %{{.*}}: memref<i32>)
// CHECK: scf.if
// CHECK: scf.if
// CHECK: memref.copy %[[KEPT]]
// CHECK: } else {
// CHECK: }
// CHECK-NOT: scf.if
// CHECK: memref.copy %[[WRITTEN]]
// CHECK-NOT: scf.if
// CHECK: memref.copy %[[RETURNED]]
func.func @after(%n: i64, %v: f32, %out: memref<4xf32>, %live: memref<13xi64>, %status: memref<i32>) -> memref<4xf32> attributes {tierup.result_kinds = ["buffer", "allocated"], tierup.error_sites = []} {
  %i = arith.constant 0 : index
  %true = arith.constant true
  %false = arith.constant false
  %zero = arith.constant 0 : i64
  %kept = memref.alloc() : memref<4xf32>
  %written = memref.alloc() : memref<4xf32>
  %returned = memref.alloc() : memref<4xf32>
  %0:2 = scf.while (%k = %zero, %on = %true) : (i64, i1) -> (i64, i1) {
    %more = arith.cmpi slt, %k, %n : i64
    %both = arith.andi %more, %on : i1
    scf.condition(%both) %k, %on : i64, i1
  } do {
  ^bb0(%k: i64, %on: i1):
    %lost = arith.cmpi eq, %k, %n : i64
    %go = arith.select %lost, %false, %on : i1
    scf.if %lost {
      func.call @after_exit0(%kept, %written, %returned, %live) : (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<13xi64>) -> ()
    }
    scf.if %go {
      memref.store %v, %kept[%i] : memref<4xf32>
    }
    %next = arith.addi %k, %n : i64
    scf.yield %next, %go : i64, i1
  }
  %stayed = arith.ori %0#1, %false : i1
  %later = memref.alloc() : memref<4xf32>
  memref.copy %kept, %later : memref<4xf32> to memref<4xf32>
  memref.copy %later, %out : memref<4xf32> to memref<4xf32>
  memref.store %v, %written[%i] : memref<4xf32>
  memref.dealloc %kept : memref<4xf32>
  memref.dealloc %later : memref<4xf32>
  memref.dealloc %written : memref<4xf32>
  return %returned : memref<4xf32>
}
func.func private @after_exit0(memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<13xi64>) attributes {tierup.exit = 0 : i64}

// -----
// A call of anything else, and a loop that may go on over all that writes: everything is copied.
// CHECK-LABEL: func.func private @unknown_exit0
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK: memref.copy
// CHECK-LABEL: func.func private @unknown_exit1
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK: memref.copy
func.func @unknown(%n: index, %v: f32, %live: memref<5xi64>, %status: memref<i32>) attributes {tierup.result_kinds = [], tierup.error_sites = []} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  scf.for %k = %i to %n step %one {
    memref.store %v, %b[%k] : memref<4xf32>
    func.call @unknown_exit1(%b, %live) : (memref<4xf32>, memref<5xi64>) -> ()
  }
  call @unknown_exit0(%a, %live) : (memref<4xf32>, memref<5xi64>) -> ()
  call @effects(%n) : (index) -> ()
  memref.dealloc %a : memref<4xf32>
  return
}
func.func private @unknown_exit0(memref<4xf32>, memref<5xi64>) attributes {tierup.exit = 0 : i64}
func.func private @effects(index)
func.func private @unknown_exit1(memref<4xf32>, memref<5xi64>) attributes {tierup.exit = 1 : i64}

// -----
// Nothing to do: a function of someone else's.
// CHECK-LABEL: func.func private @other(i64)
func.func private @other(i64)
