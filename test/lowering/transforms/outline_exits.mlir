// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-outline-exits | FileCheck %s
// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-outline-exits --tierup-outline-exits | FileCheck %s
// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-outline-exits=words=false | FileCheck %s --check-prefix=HOST

// The live words are an argument, and what a test wants lost; each exit is a function, which reads memory of any strides.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[LIVE:[^:]*]]: memref<3xi64>, %[[FORCE:[^:]*]]: memref<4xi64>) -> i1
// CHECK-NOT: tierup.exits
// CHECK: scf.if
// CHECK: %[[B:.*]] = bufferization.to_buffer %arg0 read_only : tensor<?xf32> to memref<?xf32, strided<[?], offset: ?>>
// CHECK: call @main_exit3(%[[B]], %arg1, %[[LIVE]])
// CHECK: } else {
// CHECK: %[[B2:.*]] = bufferization.to_buffer %arg2 read_only : tensor<2xi1> to memref<2xi1, strided<[?], offset: ?>>
// CHECK: call @main_exit4(%[[B2]], %[[LIVE]])
// CHECK-DAG: %[[P0:.*]] = arith.constant 0 : i64
// CHECK-DAG: %[[I7:.*]] = arith.constant 7 : i64
// CHECK: call @main_forced(%[[P0]], %[[I7]], %[[FORCE]])
// CHECK: call @main_forced(%{{.*}}, %{{.*}}, %[[FORCE]])
// CHECK-DAG: func.func private @main_exit3(memref<?xf32, strided<[?], offset: ?>>, i64, memref<3xi64>) attributes {tierup.exit = 3 : i64}
// CHECK-DAG: func.func private @main_exit4(memref<2xi1, strided<[?], offset: ?>>, memref<3xi64>) attributes {tierup.exit = 4 : i64}
// CHECK-DAG: func.func private @main_forced(i64, i64, memref<4xi64>) -> i1 attributes {tierup.forced}
func.func @main(%x: tensor<?xf32>, %n: i64, %m: tensor<2xi1>, %c: i1) -> i1 attributes {tierup.result_kinds = ["scalar"], tierup.exits = array<i64: 3, 2>} {
  scf.if %c {
    "tierup.exit"(%x, %n) {index = 3 : i64} : (tensor<?xf32>, i64) -> ()
  } else {
    "tierup.exit"(%m) {index = 4 : i64} : (tensor<2xi1>) -> ()
  }
  %0 = "tierup.forced"() {index = 7 : i64} : () -> i1
  %1 = "tierup.forced"() {index = 8 : i64} : () -> i1
  %2 = arith.ori %0, %1 : i1
  return %2 : i1
}

// -----
// The argument stands for what the caller passes, also where no exit is left.
// CHECK-LABEL: func.func @gone
// CHECK-SAME: (%{{.*}}: i1, %{{.*}}: memref<2xi64>)
func.func @gone(%c: i1) -> i1 attributes {tierup.result_kinds = ["scalar"], tierup.exits = array<i64: 2, 0>} {
  return %c : i1
}

// -----
// Nothing to do.
// CHECK-LABEL: func.func @none
// CHECK-SAME: (%{{.*}}: i1) -> i1
func.func @none(%c: i1) -> i1 attributes {tierup.result_kinds = ["scalar"]} {
  return %c : i1
}

// -----
// Steps of a host program: no words, and no table of what a test wants lost.
// HOST-LABEL: func.func @host
// HOST-SAME: (%{{.*}}: i64, %{{.*}}: tensor<?xf32>) attributes {tierup.result_kinds = []}
// HOST: call @host_exit3(%{{.*}}, %arg0) : (memref<?xf32, strided<[?], offset: ?>>, i64) -> ()
// HOST: call @host_forced(%{{.*}}, %{{.*}}) : (i64, i64) -> i1
// HOST-DAG: func.func private @host_exit3(memref<?xf32, strided<[?], offset: ?>>, i64) attributes {tierup.exit = 3 : i64}
// HOST-DAG: func.func private @host_forced(i64, i64) -> i1 attributes {tierup.forced}
func.func @host(%n: i64, %x: tensor<?xf32>) attributes {tierup.result_kinds = [], tierup.exits = array<i64: 3, 1>} {
  "tierup.exit"(%x, %n) {index = 3 : i64} : (tensor<?xf32>, i64) -> ()
  %0 = "tierup.forced"() {index = 3 : i64} : () -> i1
  return
}

// -----
func.func @without_words(%n: i64) attributes {tierup.result_kinds = []} {
  // expected-error @below {{stands in a function without tierup.exits}}
  "tierup.exit"(%n) {index = 0 : i64} : (i64) -> ()
  return
}
