// RUN: tierup-opt %s --tierup-split-shared | FileCheck %s

// CHECK-LABEL: func.func private @outer
// CHECK: [[N:%.+]] = arith.constant 1000
// CHECK: [[SO_FAR:%.+]] = arith.muli %arg0, [[N]]
// CHECK: [[LOW:%.+]] = arith.divui [[SO_FAR]], %arg1
// CHECK: [[NEXT:%.+]] = arith.addi %arg0
// CHECK: [[UP:%.+]] = arith.muli [[NEXT]], [[N]]
// CHECK: [[HIGH:%.+]] = arith.divui [[UP]], %arg1
// CHECK: scf.for %{{.+}} = [[LOW]] to [[HIGH]] step
func.func private @outer(%number: index, %count: index, %x: memref<1000xf32>, %v: f32) attributes {tierup.shared = 0} {
  %n = arith.constant 1000 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<1000xf32>
  }
  return
}

// CHECK-LABEL: func.func private @inner
// CHECK: scf.for %{{.+}} = %c0 to %c8 step
// CHECK: arith.divui
// CHECK: [[HIGH:%.+]] = arith.divui
// CHECK: scf.for %{{.+}} = %{{.+}} to [[HIGH]] step
func.func private @inner(%number: index, %count: index, %x: memref<1000xf32>, %v: f32) attributes {tierup.shared = 1} {
  %c8 = arith.constant 8 : index
  %n = arith.constant 1000 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %c8 step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      memref.store %v, %x[%i] : memref<1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @whole
// CHECK: scf.for %{{.+}} = %c0 to %arg2 step
func.func @whole(%x: memref<1000xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<1000xf32>
  }
  return
}
