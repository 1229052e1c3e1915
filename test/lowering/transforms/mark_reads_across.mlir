// RUN: tierup-opt %s --split-input-file --tierup-mark-reads-across | FileCheck %s

// Down the columns, by positions or by views; along the rows; of the loop that has another in it; small.
// CHECK-LABEL: func.func @loops
// CHECK-SAME: attributes {tierup.entry, tierup.reads_across = array<i64: 0, 1>}
func.func @loops(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>, %d: memref<9x9xf64>, %n: index) -> f64 attributes {tierup.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f64 {
    %first = memref.load %c[%i, %c0] : memref<?x?xf64>
    %t = scf.for %j = %c0 to %n step %c1 iter_args(%u = %first) -> f64 {
      %k = arith.addi %j, %c1 : index
      %0 = memref.load %a[%k, %i] : memref<?x?xf64>
      %row = memref.subview %b[%j, 0] [1, 4] [1, 1] : memref<?x?xf64> to memref<4xf64, strided<[1], offset: ?>>
      %1 = memref.load %row[%c1] : memref<4xf64, strided<[1], offset: ?>>
      %2 = memref.load %c[%i, %k] : memref<?x?xf64>
      %3 = memref.load %d[%j, %i] : memref<9x9xf64>
      %4 = arith.addf %0, %1 : f64
      %5 = arith.addf %2, %3 : f64
      %6 = arith.addf %4, %5 : f64
      %7 = arith.addf %u, %6 : f64
      scf.yield %7 : f64
    }
    %v = arith.addf %s, %t : f64
    scf.yield %v : f64
  }
  return %r : f64
}

// -----

#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Sums down the columns; what tierup-strip-mine goes through in strips.
// CHECK-LABEL: func.func @linalg
// CHECK-SAME: attributes {tierup.entry, tierup.reads_across = array<i64: 0>, tierup.turns = array<i64: 1>}
func.func @linalg(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %y: memref<?x?xf64>, %s: memref<?xf64>) attributes {tierup.entry} {
  linalg.generic {indexing_maps = [#turned, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<?x?xf64>) outs(%s : memref<?xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = arith.addf %in, %out : f64
    linalg.yield %0 : f64
  }
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]} ins(%b : memref<?x?xf64>) outs(%y : memref<?x?xf64>) {
  ^bb0(%in: f64, %out: f64):
    linalg.yield %in : f64
  }
  return
}
