// RUN: tierup-opt %s --tierup-legalize-bf16 | FileCheck %s
// RUN: tierup-opt %s --tierup-legalize-bf16 --tierup-legalize-bf16 | FileCheck %s

// Both operands are widened by bits, added in f32, and rounded: to nearest, ties to even, NaN kept quiet.
// CHECK-LABEL: func.func @add
// CHECK-DAG: [[A16:%.+]] = arith.bitcast %arg0 : bf16 to i16
// CHECK-DAG: [[A32:%.+]] = arith.extui [[A16]] : i16 to i32
// CHECK-DAG: [[AS:%.+]] = arith.shli [[A32]], %c16{{.*}} : i32
// CHECK-DAG: [[A:%.+]] = arith.bitcast [[AS]] : i32 to f32
// CHECK: [[S:%.+]] = arith.addf [[A]], %{{.+}} : f32
// CHECK: [[BITS:%.+]] = arith.bitcast [[S]] : f32 to i32
// CHECK: [[UPPER:%.+]] = arith.shrui [[BITS]], %c16{{.*}} : i32
// CHECK: [[ODD:%.+]] = arith.andi [[UPPER]], %c1{{.*}} : i32
// CHECK: arith.constant 32767 : i32
// CHECK: [[BIAS:%.+]] = arith.addi [[ODD]], %c32767{{.*}} : i32
// CHECK: [[SUM:%.+]] = arith.addi [[BITS]], [[BIAS]] : i32
// CHECK: [[ROUNDED:%.+]] = arith.shrui [[SUM]], %c16{{.*}} : i32
// CHECK: [[NAN:%.+]] = arith.cmpf uno, [[S]], [[S]] : f32
// CHECK: [[QUIET:%.+]] = arith.ori [[UPPER]], %c64{{.*}} : i32
// CHECK: arith.select [[NAN]], [[QUIET]], [[ROUNDED]] : i32
func.func @add(%a: bf16, %b: bf16) -> bf16 {
  %0 = arith.addf %a, %b : bf16
  return %0 : bf16
}

// f64 goes by way of f32, as tier 0's does; comparisons, conversions from integers, math.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.extf {{.*}} : bf16
// CHECK-NOT: arith.truncf {{.*}} to bf16
// CHECK: arith.cmpf olt, %{{.+}}, %{{.+}} : f32
// CHECK: arith.sitofp %arg2 : i32 to f32
// CHECK: arith.truncf %arg3 : f64 to f32
// CHECK: arith.extf %{{.+}} : f32 to f64
// CHECK: math.exp %{{.+}} : f32
// CHECK: return
func.func @others(%a: bf16, %b: bf16, %n: i32, %d: f64) -> (i1, bf16, bf16, f64, bf16) {
  %1 = arith.cmpf olt, %a, %b : bf16
  %2 = arith.sitofp %n : i32 to bf16
  %3 = arith.truncf %d : f64 to bf16
  %4 = arith.extf %a : bf16 to f64
  %5 = math.exp %a : bf16
  return %1, %2, %3, %4, %5 : i1, bf16, bf16, f64, bf16
}

// In the body of a loop on buffers.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: memref.store %{{.+}}, %arg0
func.func @in_a_loop(%m: memref<4xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] : memref<4xbf16>
    %y = arith.mulf %x, %x : bf16
    memref.store %y, %m[%i] : memref<4xbf16>
  }
  return
}

// Moved, and constants: no arithmetic. Other halves have instructions.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: arith.constant 1.000000e+00 : bf16
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: arith.addf %arg2, %arg2 : f16
// CHECK-NEXT: math.exp %{{.+}} : f16
// CHECK-NEXT: return
func.func @kept(%m: memref<4xbf16>, %i: index, %h: f16) -> (bf16, f16) {
  %c = arith.constant 1.0 : bf16
  %0 = memref.load %m[%i] : memref<4xbf16>
  memref.store %0, %m[%i] : memref<4xbf16>
  %1 = arith.addf %h, %h : f16
  %2 = math.exp %1 : f16
  return %c, %2 : bf16, f16
}
