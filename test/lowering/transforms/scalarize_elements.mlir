// RUN: tierup-opt %s --split-input-file --tierup-scalarize-elements | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-scalarize-elements --tierup-scalarize-elements | FileCheck %s

#none = affine_map<() -> ()>

// A row's element is read, doubled and stored as a number.
// CHECK-LABEL: func.func @element
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[T:.*]] = %arg0)
// CHECK: %[[X:.*]] = tensor.extract %[[T]][%{{.*}}, %[[I]]] : tensor<4x8xf64>
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK: %[[U:.*]] = tensor.insert %[[Y]] into %[[T]][%[[I]], %{{.*}}] : tensor<4x8xf64>
// CHECK-NEXT: scf.yield %[[U]]
func.func @element(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<f64>
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %x) -> tensor<4x8xf64> {
    %a = tensor.extract_slice %t[3, %i] [1, 1] [1, 1] : tensor<4x8xf64> to tensor<f64>
    %y = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%a : tensor<f64>) outs(%e : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %s = arith.addf %in, %in : f64
      linalg.yield %s : f64
    } -> tensor<f64>
    %u = tensor.insert_slice %y into %t[%i, 7] [1, 1] [1, 1] : tensor<f64> into tensor<4x8xf64>
    scf.yield %u : tensor<4x8xf64>
  }
  return %0 : tensor<4x8xf64>
}

// -----

#none = affine_map<() -> ()>

// What the loop carries is a number, and a tensor again behind it; so is what a branch chooses. An element that is added to is read.
// CHECK-LABEL: func.func @carried
// CHECK: %[[START:.*]] = tensor.extract %arg1[]
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%[[S:.*]] = %[[START]]) -> (f64)
// CHECK-NEXT: %[[X:.*]] = tensor.extract %arg0[%[[I]]]
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select %arg2, %[[S]], %[[X]] : f64
// CHECK-NEXT: %[[B:.*]] = scf.if %arg2 -> (f64) {
// CHECK-NEXT: scf.yield %[[X]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[CHOSEN]]
// CHECK: %[[SUM:.*]] = arith.addf %[[B]], %[[S]]
// CHECK-NEXT: scf.yield %[[SUM]] : f64
// CHECK: %[[T:.*]] = tensor.from_elements %[[R]]
// CHECK: return %[[T]]
func.func @carried(%x: tensor<8xf64>, %start: tensor<f64>, %c: i1) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %start) -> tensor<f64> {
    %a = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf64> to tensor<f64>
    %chosen = arith.select %c, %s, %a : tensor<f64>
    %b = scf.if %c -> tensor<f64> {
      scf.yield %a : tensor<f64>
    } else {
      scf.yield %chosen : tensor<f64>
    }
    %y = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%b : tensor<f64>) outs(%s : tensor<f64>) {
    ^bb0(%in: f64, %out: f64):
      %sum = arith.addf %in, %out : f64
      linalg.yield %sum : f64
    } -> tensor<f64>
    scf.yield %y : tensor<f64>
  }
  return %0 : tensor<f64>
}

// -----

// The condition of a loop, and what reads a tensor of rank 0 as such, has one made of the number.
// CHECK-LABEL: func.func @by_condition
// CHECK: scf.while (%[[S:.*]] = %{{.*}}) : (f64) -> f64
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[S]]
// CHECK: scf.condition(%[[LESS]]) %[[S]] : f64
// CHECK: ^bb0(%[[V:.*]]: f64):
// CHECK: %[[T:.*]] = tensor.from_elements %[[V]]
// CHECK: %[[NEXT:.*]] = func.call @next(%[[T]])
// CHECK: %[[N:.*]] = tensor.extract %[[NEXT]][]
// CHECK: scf.yield %[[N]] : f64
func.func private @next(tensor<f64>) -> tensor<f64>
func.func @by_condition(%start: tensor<f64>) -> tensor<f64> {
  %limit = arith.constant 8.0 : f64
  %0 = scf.while (%s = %start) : (tensor<f64>) -> tensor<f64> {
    %n = tensor.extract %s[] : tensor<f64>
    %less = arith.cmpf olt, %n, %limit : f64
    scf.condition(%less) %s : tensor<f64>
  } do {
  ^bb0(%s: tensor<f64>):
    %next = func.call @next(%s) : (tensor<f64>) -> tensor<f64>
    scf.yield %next : tensor<f64>
  }
  return %0 : tensor<f64>
}

// -----

// Outside of loops all stays.
// CHECK-LABEL: func.func @outside
// CHECK: tensor.extract_slice
// CHECK: tensor.insert_slice
func.func @outside(%x: tensor<8xf64>, %i: index) -> tensor<8xf64> {
  %a = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf64> to tensor<f64>
  %u = tensor.insert_slice %a into %x[0] [1] [1] : tensor<f64> into tensor<8xf64>
  return %u : tensor<8xf64>
}

// -----

// A part that has one element but is no tensor of rank 0 stays, too.
// CHECK-LABEL: func.func @part
// CHECK: tensor.extract_slice
// CHECK: tensor.insert_slice
func.func @part(%x: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %x) -> tensor<8xf64> {
    %a = tensor.extract_slice %t[%i] [1] [1] : tensor<8xf64> to tensor<1xf64>
    %u = tensor.insert_slice %a into %t[7] [1] [1] : tensor<1xf64> into tensor<8xf64>
    scf.yield %u : tensor<8xf64>
  }
  return %0 : tensor<8xf64>
}
