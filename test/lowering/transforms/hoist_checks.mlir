// RUN: tierup-opt %s --split-input-file --tierup-hoist-checks | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-hoist-checks --tierup-hoist-checks | FileCheck %s

// The first and the last position are checked, and what places them and 0; sums must fit 64 bits.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: (%[[A:.*]]: memref<100xf64>, %[[K:.*]]: i64, %[[LOW:.*]]: index, %[[HIGH:.*]]: index, %[[STATUS:.*]]: memref<i32>)
// CHECK: %[[L:.*]] = arith.index_cast %[[LOW]] : index to i64
// CHECK: %[[H:.*]] = arith.index_cast %[[HIGH]] : index to i64
// CHECK: %[[LAST:.*]] = arith.subi %[[H]], %c1
// CHECK: %[[LEAST:.*]] = arith.addi %{{.*}}, %[[K]]
// CHECK: %[[MOST:.*]] = arith.addi %{{.*}}, %[[K]]
// CHECK-DAG: arith.cmpi slt, %{{.*}}, %c100_i64
// CHECK-DAG: arith.cmpi sle, %c-100_i64{{.*}}, %{{.*}}
// CHECK-DAG: arith.cmpi sle, %{{.*}}, %c99_i64
// CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f64)
// CHECK-NEXT: %[[FAST:.*]] = scf.for %[[I:.*]] = %[[LOW]] to %[[HIGH]]
// CHECK-NEXT: %[[I64:.*]] = arith.index_cast %[[I]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[I64]], %[[K]]
// CHECK-NOT: memref.store
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[AT]] : i64 to index
// CHECK: %[[TURNED:.*]] = arith.select %false{{.*}}, %{{.*}}, %[[PLACE]]
// CHECK: memref.load %[[A]][%[[TURNED]]]
// CHECK: scf.yield %[[FAST]]
// CHECK: } else {
// CHECK: %[[SLOW:.*]] = scf.for
// CHECK: memref.store %{{.*}}, %[[STATUS]][]
// CHECK: arith.minsi
// CHECK: } {tierup.checks_stay}
// CHECK-NEXT: scf.yield %[[SLOW]]
// CHECK: return %[[R]]
func.func @sums(%a: memref<100xf64>, %k: i64, %low: index, %high: index, %status: memref<i32>) -> f64
    attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 100 : index
  %site = arith.constant 1 : i32
  %true = arith.constant true
  %least = arith.constant -100 : i64
  %n = arith.constant 100 : i64
  %most = arith.constant 99 : i64
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %i = %low to %high step %c1 iter_args(%s = %zero) -> (f64) {
    %i64 = arith.index_cast %i : index to i64
    %at = arith.addi %i64, %k : i64
    %0 = arith.cmpi sge, %at, %least : i64
    %1 = arith.cmpi slt, %at, %n : i64
    %2 = arith.andi %0, %1 : i1
    %3 = arith.xori %2, %true : i1
    scf.if %3 {
      memref.store %site, %status[] : memref<i32>
    }
    %4 = arith.minsi %at, %most : i64
    %5 = arith.maxsi %4, %least : i64
    %6 = arith.index_cast %5 : i64 to index
    %7 = arith.cmpi slt, %6, %c0 : index
    %8 = arith.addi %6, %size : index
    %9 = arith.select %7, %8, %6 : index
    %x = memref.load %a[%9] : memref<100xf64>
    %t = arith.addf %s, %x : f64
    scf.yield %t : f64
  } loc("torch.prim.Loop"("x.py":3:4))
  return %sum : f64
}

// -----

// A number that some rounds add to is at least what it began with, and at most so much more as there are rounds; a product by a negative
// number has its ends the other way round. The check of what is loaded stays.
// CHECK-LABEL: func.func @counted
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: arith.subi %[[LAST]], %{{.*}}
// CHECK: %[[ROUNDS:.*]] = arith.subi %[[LAST]], %{{.*}}
// CHECK: arith.muli %[[ROUNDS]], %c0
// CHECK: %[[UP:.*]] = arith.muli %[[ROUNDS]], %c2
// CHECK: arith.addi %{{.*}}, %[[UP]]
// CHECK: %[[TIMES_LEAST:.*]] = arith.muli %{{.*}}, %c-3
// CHECK: arith.muli %{{.*}}, %c-3
// CHECK: arith.cmpi slt, %[[TIMES_LEAST]], %c100
// CHECK: scf.if
// CHECK: scf.for
// CHECK: memref.store %c3_i32
// CHECK: } else {
// CHECK: memref.store %c1_i32
// CHECK: memref.store %c2_i32
// CHECK: memref.store %c3_i32
func.func @counted(%a: memref<100xi64>, %k: i64, %n: index, %status: memref<i32>) -> i64
    attributes {tierup.result_kinds = ["scalar"], tierup.error_sites = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %step = arith.constant 2 : i64
  %factor = arith.constant -3 : i64
  %size = arith.constant 100 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%at = %k) -> (i64) {
    %0 = arith.cmpi sge, %at, %size : i64
    scf.if %0 {
      memref.store %one, %status[] : memref<i32>
    }
    %i64 = arith.index_cast %i : index to i64
    %product = arith.muli %i64, %factor : i64
    %1 = arith.cmpi sge, %product, %size : i64
    scf.if %1 {
      memref.store %two, %status[] : memref<i32>
    }
    %x = memref.load %a[%i] : memref<100xi64>
    %2 = arith.cmpi sge, %x, %size : i64
    scf.if %2 {
      memref.store %three, %status[] : memref<i32>
    }
    %next = scf.if %2 -> (i64) {
      %more = arith.addi %at, %step : i64
      scf.yield %more : i64
    } else {
      scf.yield %at : i64
    }
    scf.yield %next : i64
  } loc("torch.prim.Loop"("x.py":3:4))
  return %r : i64
}

// -----

// Loops stay where no end is known of what is checked, where others are inside, and where the program has none.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-4: scf.for
// CHECK-NOT: scf.for
func.func @stay(%a: memref<100xi64>, %n: index, %size: i64, %status: memref<i32>)
    attributes {tierup.result_kinds = [], tierup.error_sites = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %site = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<100xi64>
    %0 = arith.cmpi sge, %x, %size : i64
    scf.if %0 {
      memref.store %site, %status[] : memref<i32>
    }
  } loc("torch.prim.Loop"("x.py":3:4))
  scf.for %i = %c0 to %n step %c1 {
    %i64 = arith.index_cast %i : index to i64
    %0 = arith.cmpi sge, %i64, %size : i64
    scf.if %0 {
      memref.store %site, %status[] : memref<i32>
    }
    scf.for %j = %c0 to %n step %c1 {
      memref.store %i64, %a[%j] : memref<100xi64>
    } loc("torch.prim.Loop"("x.py":4:4))
  } loc("torch.prim.Loop"("x.py":3:4))
  scf.for %i = %c0 to %n step %c1 {
    %i64 = arith.index_cast %i : index to i64
    %0 = arith.cmpi sge, %i64, %size : i64
    scf.if %0 {
      memref.store %site, %status[] : memref<i32>
    }
  }
  return
}
