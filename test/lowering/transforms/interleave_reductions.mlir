// RUN: tierup-opt %s --tierup-interleave-reductions | FileCheck %s

// CHECK: [[FOUR:#.+]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK: [[ANNOTATION:#.+]] = #llvm.loop_annotation<interleave = [[FOUR]]>

// The loop that writes one place in all its rounds, and none around it.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {loop_annotation = [[ANNOTATION]]}
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @rows(%x: memref<8x100xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c100 step %c1 {
      %v = memref.load %x[%i, %j] : memref<8x100xf32>
      %a = memref.load %y[%i] : memref<8xf32>
      %s = arith.maximumf %a, %v : f32
      memref.store %s, %y[%i] : memref<8xf32>
    }
  }
  return
}

// Not where each round has a place of its own, and not where there is much to do in each.
// CHECK-LABEL: func.func @others
// CHECK-NOT: loop_annotation
func.func @others(%x: memref<100xf32>, %y: memref<f32>, %z: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %j = %c0 to %c100 step %c1 {
    %v = memref.load %x[%j] : memref<100xf32>
    memref.store %v, %z[%j] : memref<100xf32>
  }
  scf.for %j = %c0 to %c100 step %c1 {
    %v = memref.load %x[%j] : memref<100xf32>
    %1 = math.exp %v : f32
    %2 = arith.mulf %1, %v : f32
    %3 = arith.mulf %2, %v : f32
    %4 = arith.mulf %3, %v : f32
    %5 = arith.mulf %4, %v : f32
    %6 = arith.mulf %5, %v : f32
    %7 = arith.mulf %6, %v : f32
    %8 = arith.mulf %7, %v : f32
    %9 = arith.mulf %8, %v : f32
    %10 = arith.mulf %9, %v : f32
    %11 = arith.mulf %10, %v : f32
    %12 = arith.mulf %11, %v : f32
    %13 = arith.mulf %12, %v : f32
    %a = memref.load %y[] : memref<f32>
    %s = arith.addf %a, %13 : f32
    memref.store %s, %y[] : memref<f32>
  }
  return
}
