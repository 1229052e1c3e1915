// RUN: tierup-opt %s --tierup-rebase-stores | FileCheck %s
// RUN: tierup-opt %s --tierup-rebase-stores --tierup-rebase-stores | FileCheck %s

// CHECK-LABEL: func.func @read_between
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %arg0 into %arg1[%arg2] [1] [1]
// CHECK: tensor.extract_slice %[[FIRST]]
// CHECK: tensor.insert_slice %{{.*}} into %[[FIRST]][%arg2] [1] [1]
func.func @read_between(%a: tensor<f64>, %t: tensor<8xf64>, %i: index, %j: index) -> tensor<8xf64> {
  %1 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  %x = tensor.extract_slice %1[%j] [1] [1] : tensor<8xf64> to tensor<f64>
  %2 = tensor.insert_slice %x into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  return %2 : tensor<8xf64>
}

// A third goes on from the second.
// CHECK-LABEL: func.func @three
// CHECK: %[[FIRST:.*]] = tensor.insert_slice
// CHECK: %[[SECOND:.*]] = tensor.insert_slice %{{.*}} into %[[FIRST]][%arg2]
// CHECK: tensor.insert_slice %{{.*}} into %[[SECOND]][%arg2]
func.func @three(%a: tensor<f64>, %t: tensor<8xf64>, %i: index, %j: index) -> tensor<8xf64> {
  %1 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  %x = tensor.extract_slice %1[%j] [1] [1] : tensor<8xf64> to tensor<f64>
  %2 = tensor.insert_slice %x into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  %y = tensor.extract_slice %2[%j] [1] [1] : tensor<8xf64> to tensor<f64>
  %3 = tensor.insert_slice %y into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  return %3 : tensor<8xf64>
}

// Another part, another branch, and a store that nobody reads stay; one in a branch goes on from what stands before it.
// CHECK-LABEL: func.func @others
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %arg0 into %arg1[%arg2]
// CHECK: tensor.insert_slice %arg0 into %arg1[%arg3]
// CHECK: scf.if
// CHECK: tensor.insert_slice %arg0 into %[[FIRST]][%arg2]
// CHECK: } else {
// CHECK: tensor.insert_slice %arg0 into %[[FIRST]][%arg2]
func.func @others(%a: tensor<f64>, %t: tensor<8xf64>, %i: index, %j: index, %c: i1) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) {
  %1 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  %2 = tensor.insert_slice %a into %t[%j] [1] [1] : tensor<f64> into tensor<8xf64>
  %3 = scf.if %c -> tensor<8xf64> {
    %4 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
    scf.yield %4 : tensor<8xf64>
  } else {
    %5 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
    scf.yield %5 : tensor<8xf64>
  }
  return %1, %2, %3 : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>
}

// CHECK-LABEL: func.func @nobody_reads
// CHECK: tensor.insert_slice %arg0 into %arg1[%arg2]
// CHECK: tensor.insert_slice %arg0 into %arg1[%arg2]
func.func @nobody_reads(%a: tensor<f64>, %t: tensor<8xf64>, %i: index) -> tensor<8xf64> {
  %1 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  %2 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
  return %2 : tensor<8xf64>
}

// Neither arm goes on from the other.
// CHECK-LABEL: func.func @arms
// CHECK-COUNT-2: tensor.insert_slice %arg0 into %arg1[%arg2]
func.func @arms(%a: tensor<f64>, %t: tensor<8xf64>, %i: index, %c: i1) -> tensor<8xf64> {
  %1 = scf.if %c -> tensor<8xf64> {
    %2 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
    scf.yield %2 : tensor<8xf64>
  } else {
    %3 = tensor.insert_slice %a into %t[%i] [1] [1] : tensor<f64> into tensor<8xf64>
    scf.yield %3 : tensor<8xf64>
  }
  return %1 : tensor<8xf64>
}
