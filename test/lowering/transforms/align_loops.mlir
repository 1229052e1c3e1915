// RUN: tierup-opt %s --split-input-file --tierup-align-loops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-align-loops --tierup-align-loops | FileCheck %s

// The array comes first before and behind the condition; results keep their readers.
// CHECK-LABEL: func.func @counted
// CHECK: %[[R:.*]]:2 = scf.while (%[[T:.*]] = %arg0, %[[I:.*]] = %{{.*}}, %[[GO:.*]] = %{{.*}}) : (tensor<8xf64>, i64, i1) -> (tensor<8xf64>, i64)
// CHECK: scf.condition(%[[GO]]) %[[T]], %[[I]] : tensor<8xf64>, i64
// CHECK: ^bb0(%[[U:.*]]: tensor<8xf64>, %[[J:.*]]: i64):
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]]
// CHECK: %[[STORED:.*]] = tensor.insert
// CHECK: scf.yield %[[STORED]], %[[NEXT]], %{{.*}} : tensor<8xf64>, i64, i1
// CHECK: return %[[R]]#1, %[[R]]#0
func.func @counted(%x: tensor<8xf64>, %v: f64) -> (i64, tensor<8xf64>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %true = arith.constant true
  %0:2 = scf.while (%i = %c0, %go = %true, %t = %x) : (i64, i1, tensor<8xf64>) -> (i64, tensor<8xf64>) {
    scf.condition(%go) %i, %t : i64, tensor<8xf64>
  } do {
  ^bb0(%i: i64, %t: tensor<8xf64>):
    %at = arith.index_cast %i : i64 to index
    %next = arith.addi %i, %c1 : i64
    %more = arith.cmpi slt, %next, %c8 : i64
    %stored = tensor.insert %v into %t[%at] : tensor<8xf64>
    scf.yield %next, %more, %stored : i64, i1, tensor<8xf64>
  }
  return %0#0, %0#1 : i64, tensor<8xf64>
}

// -----

// An array that is handed on twice, one that the condition makes, and numbers have no place to keep.
// CHECK-LABEL: func.func @others
// CHECK: %[[R:.*]]:4 = scf.while (%[[T:.*]] = %arg0, %[[GO:.*]] = %{{.*}}) : (tensor<8xf64>, i1) -> (tensor<8xf64>, tensor<8xf64>, i1, tensor<8xf64>)
// CHECK: %[[MADE:.*]] = tensor.insert
// CHECK: scf.condition(%[[GO]]) %[[T]], %[[MADE]], %[[GO]], %[[T]]
// CHECK: return %[[R]]#1, %[[R]]#2, %[[R]]#0, %[[R]]#3
func.func @others(%x: tensor<8xf64>, %v: f64) -> (tensor<8xf64>, i1, tensor<8xf64>, tensor<8xf64>) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %false = arith.constant false
  %0:4 = scf.while (%go = %true, %t = %x) : (i1, tensor<8xf64>) -> (tensor<8xf64>, i1, tensor<8xf64>, tensor<8xf64>) {
    %made = tensor.insert %v into %t[%c0] : tensor<8xf64>
    scf.condition(%go) %made, %go, %t, %t : tensor<8xf64>, i1, tensor<8xf64>, tensor<8xf64>
  } do {
  ^bb0(%made: tensor<8xf64>, %go: i1, %t: tensor<8xf64>, %u: tensor<8xf64>):
    scf.yield %false, %u : i1, tensor<8xf64>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<8xf64>, i1, tensor<8xf64>, tensor<8xf64>
}

// -----

// One that is in its place stays as it is.
// CHECK-LABEL: func.func @aligned
// CHECK: scf.while (%[[I:.*]] = %{{.*}}, %[[T:.*]] = %arg0) : (i64, tensor<8xf64>) -> (i64, tensor<8xf64>)
func.func @aligned(%x: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  %0:2 = scf.while (%i = %c0, %t = %x) : (i64, tensor<8xf64>) -> (i64, tensor<8xf64>) {
    %more = arith.cmpi slt, %i, %c8 : i64
    scf.condition(%more) %i, %t : i64, tensor<8xf64>
  } do {
  ^bb0(%i: i64, %t: tensor<8xf64>):
    scf.yield %c8, %t : i64, tensor<8xf64>
  }
  return %0#1 : tensor<8xf64>
}
