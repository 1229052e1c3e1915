// RUN: tierup-opt %s --tierup-merge-kinds | FileCheck %s

// The array's place holds 0.0 as long as the kind is 0: before the first round, and where a round adds nothing.
// CHECK-LABEL: func.func @sum_of_some
// CHECK: scf.for {{.+}} iter_args([[KIND:%[a-z0-9]+]] = {{.+}}, [[A:%[a-z0-9]+]] =
// CHECK: [[X:%.+]] = memref.load
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK: arith.addf [[A]], [[X]]
// CHECK: return
func.func @sum_of_some(%x: memref<?xf64>, %n: index, %least: f64) -> (i64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = arith.constant 0 : i64
  %k1 = arith.constant 1 : i64
  %z = arith.constant 0.0 : f64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%kind = %k0, %a = %z) -> (i64, f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %p = arith.cmpf ogt, %v, %least : f64
    %k = arith.select %p, %k1, %kind : i64
    %s = scf.if %p -> (f64) {
      %first = arith.cmpi eq, %kind, %k0 : i64
      %t = scf.if %first -> (f64) {
        %u = arith.addf %v, %z : f64
        scf.yield %u : f64
      } else {
        %u = arith.addf %a, %v : f64
        scf.yield %u : f64
      }
      scf.yield %t : f64
    } else {
      scf.yield %a : f64
    }
    scf.yield %k, %s : i64, f64
  }
  return %r#0, %r#1 : i64, f64
}

// So it is in a loop in a loop.
// CHECK-LABEL: func.func @of_a_matrix
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: arith.subf
// CHECK: return
func.func @of_a_matrix(%x: memref<?x?xf32>, %n: index) -> (i64, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = arith.constant 0 : i64
  %k1 = arith.constant 1 : i64
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%kind = %k0, %a = %z) -> (i64, f32) {
    %q:2 = scf.for %j = %c0 to %i step %c1 iter_args(%kind2 = %kind, %a2 = %a) -> (i64, f32) {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %first = arith.cmpi eq, %kind2, %k0 : i64
      %t = scf.if %first -> (f32) {
        %u = arith.subf %z, %v : f32
        scf.yield %u : f32
      } else {
        %u = arith.subf %a2, %v : f32
        scf.yield %u : f32
      }
      scf.yield %k1, %t : i64, f32
    }
    scf.yield %q#0, %q#1 : i64, f32
  }
  return %r#0, %r#1 : i64, f32
}

// Not where the place holds something else at first (0.0 is not -0.0), where a round leaves something else there, and where a kind comes back.
// CHECK-LABEL: func.func @not_proven
// CHECK-COUNT-3: scf.if
// CHECK: return
func.func @not_proven(%x: memref<?xf64>, %n: index, %p: i1) -> (f64, f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = arith.constant 0 : i64
  %k1 = arith.constant 1 : i64
  %z = arith.constant 0.0 : f64
  %m = arith.constant -0.0 : f64
  %r:6 = scf.for %i = %c0 to %n step %c1 iter_args(%ka = %k0, %a = %m, %kb = %k0, %b = %z, %kc = %k0, %c = %z) -> (i64, f64, i64, f64, i64, f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %fa = arith.cmpi eq, %ka, %k0 : i64
    %sa = scf.if %fa -> (f64) {
      %u = arith.addf %v, %z : f64
      scf.yield %u : f64
    } else {
      %u = arith.addf %a, %v : f64
      scf.yield %u : f64
    }
    %fb = arith.cmpi eq, %kb, %k0 : i64
    %sb = scf.if %fb -> (f64) {
      %u = arith.addf %v, %z : f64
      scf.yield %u : f64
    } else {
      %u = arith.addf %b, %v : f64
      scf.yield %u : f64
    }
    %fc = arith.cmpi eq, %kc, %k0 : i64
    %sc = scf.if %fc -> (f64) {
      %u = arith.addf %v, %z : f64
      scf.yield %u : f64
    } else {
      %u = arith.addf %c, %v : f64
      scf.yield %u : f64
    }
    %kd = arith.select %p, %k1, %k0 : i64
    scf.yield %k1, %sa, %kb, %sb, %kd, %sc : i64, f64, i64, f64, i64, f64
  }
  return %r#1, %r#3, %r#5 : f64, f64, f64
}
