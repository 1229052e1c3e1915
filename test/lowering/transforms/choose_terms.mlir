// RUN: tierup-opt %s --tierup-choose-terms | FileCheck %s
// RUN: tierup-opt %s --tierup-choose-terms --tierup-choose-terms | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK: scf.for {{.+}} iter_args([[S:%.+]] =
// CHECK: [[ZERO:%.+]] = arith.constant -0.0
// CHECK: [[T:%.+]] = scf.if
// CHECK-NEXT: scf.yield [[X:%.+]] : f64
// CHECK: scf.yield [[ZERO]]
// CHECK: [[R:%.+]] = arith.addf [[S]], [[T]] fastmath<contract> : f64
// CHECK-NEXT: scf.yield [[R]]
func.func @sum(%x: memref<?xf64>, %n: index, %least: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %p = arith.cmpf ogt, %v, %least : f64
    %a = scf.if %p -> (f64) {
      %t = arith.addf %s, %v fastmath<contract> : f64
      scf.yield %t : f64
    } else {
      scf.yield %s : f64
    }
    scf.yield %a : f64
  }
  return %r : f64
}

// The other arm, the other operand, beside another result; differences take 0 away, products are of 1.
// CHECK-LABEL: func.func @others
// CHECK: scf.for {{.+}} iter_args([[S:%[a-z0-9]+]] = {{[^,]+}}, [[D:%[a-z0-9]+]] = {{[^,]+}}, [[M:%[a-z0-9]+]] =
// CHECK-DAG: [[NEG:%.+]] = arith.constant -0.0
// CHECK-DAG: [[ZERO:%.+]] = arith.constant 0.0
// CHECK-DAG: [[ONE:%.+]] = arith.constant 1.0
// CHECK: [[T:%.+]]:4 = scf.if
// CHECK: [[Y:%.+]] = arith.mulf [[V:%.+]], [[V]]
// CHECK: scf.yield [[NEG]], [[V]], [[Y]], [[V]]
// CHECK: scf.yield [[Y2:%.+]], [[ZERO]], [[ONE]]
// CHECK: arith.mulf [[M]], [[T]]#2
// CHECK-NEXT: arith.subf [[D]], [[T]]#1
// CHECK-NEXT: arith.addf [[T]]#0, [[S]]
func.func @others(%x: memref<?xf32>, %n: index, %p: i1) -> (f32, f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z, %d = %z, %m = %z, %l = %z) -> (f32, f32, f32, f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %a:4 = scf.if %p -> (f32, f32, f32, f32) {
      %y = arith.mulf %v, %v : f32
      %t = arith.subf %d, %v : f32
      %u = arith.mulf %m, %y : f32
      scf.yield %s, %t, %u, %v : f32, f32, f32, f32
    } else {
      %t = arith.addf %v, %s : f32
      scf.yield %t, %d, %m, %l : f32, f32, f32, f32
    }
    scf.yield %a#0, %a#1, %a#2, %a#3 : f32, f32, f32, f32
  }
  return %r#0, %r#1, %r#2, %r#3 : f32, f32, f32, f32
}

// Not what a difference takes away from something else, what an arm with a load would add, a sum that is read besides, and nothing outside of loops.
// CHECK-LABEL: func.func @as_they_are
// CHECK-NOT: arith.constant -0.0
// CHECK: scf.if
// CHECK: arith.subf
// CHECK: scf.if
// CHECK: memref.load
// CHECK: arith.addf
// CHECK: scf.if
// CHECK: arith.addf
// CHECK: return
func.func @as_they_are(%x: memref<?xf64>, %n: index, %p: i1) -> (f64, f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z, %d = %z) -> (f64, f64) {
    %a = scf.if %p -> (f64) {
      %t = arith.subf %d, %s : f64
      scf.yield %t : f64
    } else {
      scf.yield %s : f64
    }
    %b = scf.if %p -> (f64) {
      %v = memref.load %x[%i] : memref<?xf64>
      %t = arith.addf %d, %v : f64
      scf.yield %t : f64
    } else {
      scf.yield %d : f64
    }
    scf.yield %a, %b : f64, f64
  }
  %c = scf.if %p -> (f64) {
    %t = arith.addf %r#0, %r#1 : f64
    scf.yield %t : f64
  } else {
    scf.yield %r#0 : f64
  }
  return %r#0, %r#1, %c : f64, f64, f64
}
