// RUN: tierup-opt %s --split-input-file --tierup-separate-results | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-separate-results --tierup-separate-results | FileCheck %s

// Two results that start from one fill: each gets a fill and an empty tensor of its own.
// CHECK-LABEL: func.func @fill
// CHECK-COUNT-2: tensor.empty() : tensor<f64>
// CHECK-NOT: tensor.empty
#scalar = affine_map<() -> ()>
#row = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>
func.func @fill(%x: tensor<4xf64>, %y: tensor<4xf64>, %p: memref<f64>, %q: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %0 = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %a = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["reduction"]} ins(%x : tensor<4xf64>) outs(%0 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %s = arith.addf %out, %in : f64
    linalg.yield %s : f64
  } -> tensor<f64>
  %b = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["reduction"]} ins(%y : tensor<4xf64>) outs(%0 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %s = arith.addf %out, %in : f64
    linalg.yield %s : f64
  } -> tensor<f64>
  bufferization.materialize_in_destination %a in restrict writable %p : (tensor<f64>, memref<f64>) -> ()
  bufferization.materialize_in_destination %b in restrict writable %q : (tensor<f64>, memref<f64>) -> ()
  return
}

// -----

// Two results that grow from one computed value: it has memory of its own.
// CHECK-LABEL: func.func @computed
// CHECK: %[[M:.*]] = bufferization.alloc_tensor() : tensor<4xf64>
// CHECK: linalg.exp {{.*}} outs(%[[M]]
func.func @computed(%x: tensor<4xf64>, %v: f64, %p: memref<4xf64>, %q: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %a = tensor.insert %v into %0[%c0] : tensor<4xf64>
  %b = tensor.insert %v into %0[%c1] : tensor<4xf64>
  bufferization.materialize_in_destination %a in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %b in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// A result from which another grows.
// CHECK-LABEL: func.func @grown
// CHECK: bufferization.alloc_tensor
// CHECK-NOT: tensor.empty
func.func @grown(%x: tensor<4xf64>, %v: f64, %p: memref<4xf64>, %q: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %a = tensor.insert %v into %0[%c0] : tensor<4xf64>
  bufferization.materialize_in_destination %a in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// Nothing to do: chains of single uses, with a last value that is read besides, through a branch too.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: alloc_tensor
// CHECK-COUNT-3: tensor.empty
// CHECK-NOT: alloc_tensor
// CHECK: return
func.func @alone(%x: tensor<4xf64>, %c: i1, %p: memref<4xf64>, %q: memref<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %1 = scf.if %c -> tensor<4xf64> {
    %f = tensor.empty() : tensor<4xf64>
    %2 = linalg.exp ins(%0 : tensor<4xf64>) outs(%f : tensor<4xf64>) -> tensor<4xf64>
    scf.yield %2 : tensor<4xf64>
  } else {
    %f = tensor.empty() : tensor<4xf64>
    %2 = linalg.tanh ins(%0 : tensor<4xf64>) outs(%f : tensor<4xf64>) -> tensor<4xf64>
    scf.yield %2 : tensor<4xf64>
  }
  bufferization.materialize_in_destination %0 in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %1 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// What reads another tensor element by element is no fill: it is not made twice.
// CHECK-LABEL: func.func @gather
// CHECK-COUNT-1: tensor.extract
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @gather(%x: tensor<9xf64>, %p: memref<4xf64>, %q: memref<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf64>) {
  ^bb0(%out: f64):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<9xf64>
    linalg.yield %v : f64
  } -> tensor<4xf64>
  %1 = linalg.exp ins(%x : tensor<9xf64>) outs(%x : tensor<9xf64>) -> tensor<9xf64>
  %2 = linalg.add ins(%0, %0 : tensor<4xf64>, tensor<4xf64>) outs(%0 : tensor<4xf64>) -> tensor<4xf64>
  bufferization.materialize_in_destination %2 in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// A result that another may be, too: which of the two memories the other takes, only the run can tell.
// CHECK-LABEL: func.func @chosen
// CHECK: %[[OWN:.*]] = bufferization.alloc_tensor()
// CHECK: linalg.exp ins({{.*}}) outs(%[[OWN]]
// CHECK: arith.select
func.func @chosen(%x: tensor<4xf64>, %y: tensor<4xf64>, %c: i1, %p: memref<4xf64>, %q: memref<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %1 = arith.select %c, %0, %y : tensor<4xf64>
  bufferization.materialize_in_destination %1 in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// Two values that are exchanged where a condition holds: either may be either result, so neither is computed where one of them lies.
// CHECK-LABEL: func.func @exchanged
// CHECK-NOT: tensor.empty
// CHECK: arith.select
func.func @exchanged(%x: tensor<4xf64>, %c: i1, %p: memref<4xf64>, %q: memref<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %1 = linalg.log ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %2 = arith.select %c, %1, %0 : tensor<4xf64>
  %3 = arith.select %c, %0, %1 : tensor<4xf64>
  bufferization.materialize_in_destination %2 in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %3 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// A result that a loop goes on from: its rounds would write where the result lies.
// CHECK-LABEL: func.func @written_by_a_loop
// CHECK: %[[OWN:.*]] = bufferization.alloc_tensor()
// CHECK: linalg.exp ins({{.*}}) outs(%[[OWN]]
// CHECK: scf.for
func.func @written_by_a_loop(%x: tensor<4xf64>, %n: index, %v: f64, %p: memref<4xf64>, %q: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf64>
  %0 = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %0) -> (tensor<4xf64>) {
    %2 = tensor.insert %v into %t[%i] : tensor<4xf64>
    scf.yield %2 : tensor<4xf64>
  }
  bufferization.materialize_in_destination %1 in restrict writable %p : (tensor<4xf64>, memref<4xf64>) -> ()
  bufferization.materialize_in_destination %0 in restrict writable %q : (tensor<4xf64>, memref<4xf64>) -> ()
  return
}

// -----

// What is inserted into a tensor from before the loop: each round has a copy of it, since the next one reads it again.
// CHECK-LABEL: func.func @insert_in_each_round
// CHECK: scf.for
// CHECK: %[[C:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<4xf64>
// CHECK-NOT: alloc_tensor
// CHECK: tensor.insert_slice %{{.*}} into %[[C]]
func.func @insert_in_each_round(%x: tensor<4xf64>, %s: tensor<f64>, %n: index, %c: i1) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf64>) {
    %2 = scf.if %c -> (tensor<4xf64>) {
      %3 = tensor.insert_slice %s into %x[%i] [1] [1] : tensor<f64> into tensor<4xf64>
      scf.yield %3 : tensor<4xf64>
    } else {
      scf.yield %t : tensor<4xf64>
    }
    scf.yield %2 : tensor<4xf64>
  }
  return %1 : tensor<4xf64>
}

// -----

// What a loop carries is inserted into as it is, and so is an empty tensor, of which nothing is read.
// CHECK-LABEL: func.func @insert_into_what_is_carried
// CHECK-NOT: copy(
func.func @insert_into_what_is_carried(%x: tensor<4xf64>, %s: tensor<f64>, %n: index) -> (tensor<4xf64>, tensor<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf64>
  %1:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x, %u = %x) -> (tensor<4xf64>, tensor<4xf64>) {
    %2 = tensor.insert_slice %s into %t[%i] [1] [1] : tensor<f64> into tensor<4xf64>
    %3 = tensor.insert_slice %u into %e[0] [4] [1] : tensor<4xf64> into tensor<4xf64>
    scf.yield %2, %3 : tensor<4xf64>, tensor<4xf64>
  }
  return %1#0, %1#1 : tensor<4xf64>, tensor<4xf64>
}
